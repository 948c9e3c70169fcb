package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// note writes into the outbox, in the transaction that makes the change, that these orders
// moved to a status: one row, whatever their number.
func note(ctx context.Context, tx *sqlx.Tx, orders []seckill.Order, to seckill.Status, why seckill.Reason, now int64) error {
	const query = "INSERT INTO order_outbox (orders, status, reason, created_at) VALUES (?, ?, ?, ?)"
	_, err := tx.ExecContext(ctx, query, encode(orders), to, why, now)
	return err
}

// encode writes [[order,user,voucher],...] in JSON, by hand: a batch of orders is stored in
// milliseconds, and this is part of it.
func encode(orders []seckill.Order) string {
	const most = 3*20 + len("[,,],") // of 63 bits are at most 19 digits
	text := make([]byte, 0, most*len(orders)+len("[]"))
	for i, o := range orders {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		text = strconv.AppendInt(append(text, separator, '['), int64(o.ID), 10)
		text = strconv.AppendInt(append(text, ','), int64(o.User), 10)
		text = append(strconv.AppendInt(append(text, ','), int64(o.Voucher), 10), ']')
	}
	return string(append(text, ']'))
}

// outboxRow is a row of order_outbox as the driver reads it.
type outboxRow struct {
	ID        int64          `db:"id"`
	Orders    []byte         `db:"orders"`
	Status    seckill.Status `db:"status"`
	Reason    seckill.Reason `db:"reason"`
	CreatedAt int64          `db:"created_at"`
}

// events are the changes of a row, each under the number of the row and its own.
func (r outboxRow) events() ([]seckill.Event, error) {
	var orders [][3]int64
	if err := json.Unmarshal(r.Orders, &orders); err != nil {
		return nil, &seckill.Error{Op: "sqlstore.Publish", Code: seckill.Internal, Err: fmt.Errorf("row %d: %w", r.ID, err)}
	}
	events := make([]seckill.Event, len(orders))
	for i, o := range orders {
		events[i] = seckill.Event{
			ID:    strconv.FormatInt(r.ID, 10) + "-" + strconv.Itoa(i),
			Order: seckill.OrderID(o[0]), User: seckill.UserID(o[1]), Voucher: seckill.VoucherID(o[2]),
			Status: r.Status, Reason: r.Reason, At: fromMillis(r.CreatedAt),
		}
	}
	return events, nil
}

// Noted speaks when this process has changed orders, so that nobody has to ask the database
// all the time. What others changed, it does not tell.
func (s *Store) Noted() <-chan struct{} { return s.noted }

// Publish hands up to limit transactions' changes to fn, the oldest first, and marks them
// published when fn is done. It returns how many transactions they were: 0 where nothing
// waits, or somebody else publishes. Where fn fails, or this process dies, all of them are
// published again, under the same ids. An error of fn comes back as it is; fn must not use
// this store.
//
// The changes of one order come in their order, since the numbers do: who changes an order
// waits for its row until the change before is committed, and only then gets a number. And
// one publisher at a time publishes, by the lock on a row, from the lowest number on. One
// that was frozen and has lost that lock can only repeat what others published meanwhile.
func (s *Store) Publish(ctx context.Context, limit int, fn func(ctx context.Context, events []seckill.Event) error) (n int, err error) {
	var failure error // of fn, which need not speak in codes
	err = s.inTx(ctx, func(tx *sqlx.Tx) error {
		var turn int
		err := tx.GetContext(ctx, &turn, "SELECT id FROM order_outbox_turn WHERE id = 1"+s.dialect.skipLocked)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // somebody else's
		}
		if err != nil {
			return err
		}
		events, ids, err := unpublished(ctx, tx, limit)
		if err != nil || len(ids) == 0 {
			return err
		}
		if failure = fn(ctx, events); failure != nil {
			return failure
		}
		n = len(ids)
		query, args, err := sqlx.In("UPDATE order_outbox SET published_at = "+s.dialect.now+" WHERE id IN (?)", ids)
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
		return err
	})
	if failure != nil {
		return 0, failure
	}
	if err != nil {
		return 0, fault("sqlstore.Publish", err)
	}
	return n, nil
}

func unpublished(ctx context.Context, tx *sqlx.Tx, limit int) (events []seckill.Event, ids []int64, err error) {
	var rows []outboxRow
	const query = "SELECT id, orders, status, reason, created_at FROM order_outbox WHERE published_at IS NULL ORDER BY id LIMIT ?"
	if err := tx.SelectContext(ctx, &rows, query, limit); err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		changes, err := row.events()
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, row.ID)
		events = append(events, changes...)
	}
	return events, ids, nil
}

// Backlog tells what waits to be published.
func (s *Store) Backlog(ctx context.Context) (seckill.Backlog, error) {
	var row struct {
		Waiting int64 `db:"waiting"`
		Oldest  int64 `db:"oldest"`
	}
	query := "SELECT COUNT(*) AS waiting, COALESCE(" + s.dialect.now + " - MIN(created_at), 0) AS oldest" +
		" FROM order_outbox WHERE published_at IS NULL"
	if err := s.db.GetContext(ctx, &row, query); err != nil {
		return seckill.Backlog{}, fault("sqlstore.Backlog", err)
	}
	return seckill.Backlog{Waiting: row.Waiting, Oldest: time.Duration(row.Oldest) * time.Millisecond}, nil
}

// ForgetPublished deletes up to limit rows of the outbox that were published longer ago
// than age, and returns how many.
func (s *Store) ForgetPublished(ctx context.Context, age time.Duration, limit int) (int64, error) {
	const op = "sqlstore.ForgetPublished"
	var ids []int64
	query := "SELECT id FROM order_outbox WHERE published_at < " + s.dialect.now + " - ? ORDER BY published_at LIMIT ?"
	if err := s.db.SelectContext(ctx, &ids, query, age.Milliseconds(), limit); err != nil || len(ids) == 0 {
		return 0, fault(op, err)
	}
	query, args, err := sqlx.In("DELETE FROM order_outbox WHERE id IN (?)", ids)
	if err != nil {
		return 0, fault(op, err)
	}
	result, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, fault(op, err)
	}
	n, err := result.RowsAffected()
	return n, fault(op, err)
}
