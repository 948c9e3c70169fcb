package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Order reads one order; OrderNotFound if it has no row.
func (s *Store) Order(ctx context.Context, id seckill.OrderID) (seckill.Order, error) {
	return s.oneOrder(ctx, "sqlstore.Order", "id = ?", id)
}

// LiveOrder reads the order by which a user holds a unit of a voucher; OrderNotFound if
// they hold none.
func (s *Store) LiveOrder(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Order, error) {
	return s.oneOrder(ctx, "sqlstore.LiveOrder", "user_id = ? AND voucher_id = ? AND live = 1", u, v)
}

func (s *Store) oneOrder(ctx context.Context, op, where string, args ...any) (seckill.Order, error) {
	var row orderRow
	err := s.db.GetContext(ctx, &row, "SELECT "+orderColumns+" FROM voucher_order WHERE "+where, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return seckill.Order{}, &seckill.Error{Op: op, Code: seckill.OrderNotFound}
	}
	if err != nil {
		return seckill.Order{}, fault(op, err)
	}
	return row.order(), nil
}

// Rows reads the rows of many orders, live or dead; an id without one is not in the map.
func (s *Store) Rows(ctx context.Context, ids []seckill.OrderID) (map[seckill.OrderID]seckill.Order, error) {
	rows, err := selectIn[orderRow](ctx, s.db, "SELECT "+orderColumns+" FROM voucher_order WHERE id IN (?)", ids)
	if err != nil {
		return nil, fault("sqlstore.Rows", err)
	}
	return byID(rows), nil
}

// LiveOrders reads the orders by which some users hold units of one voucher.
func (s *Store) LiveOrders(ctx context.Context, v seckill.VoucherID, users []seckill.UserID) (map[seckill.UserID]seckill.Order, error) {
	query := "SELECT " + orderColumns + " FROM voucher_order WHERE voucher_id = ? AND live = 1 AND user_id IN (?)"
	rows, err := selectIn[orderRow](ctx, s.db, query, users, v)
	if err != nil {
		return nil, fault("sqlstore.LiveOrders", err)
	}
	orders := make(map[seckill.UserID]seckill.Order, len(rows))
	for _, row := range rows {
		orders[row.User] = row.order()
	}
	return orders, nil
}

// Reject writes a rejected row with its release due, unless the order has a row: the
// INSERT decides, and the row that is there in the end is returned. It may be live, or
// even of another user (Same tells).
func (s *Store) Reject(ctx context.Context, o seckill.Order, reason seckill.Reason) (seckill.Order, error) {
	const op = "sqlstore.Reject"
	err := s.contend(ctx, func(tx *sqlx.Tx) error {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		const query = "INSERT INTO voucher_order (id, user_id, voucher_id, status, release_due, reason, created_at, updated_at)" +
			" VALUES (?, ?, ?, ?, 1, ?, ?, ?)"
		if _, err := tx.ExecContext(ctx, query, o.ID, o.User, o.Voucher, seckill.Rejected, reason, now, now); err != nil {
			return err
		}
		return note(ctx, tx, []seckill.Order{o}, seckill.Rejected, reason, now)
	})
	if err != nil && !isDuplicate(err) {
		return seckill.Order{}, fault(op, err)
	}
	row, err := s.Order(ctx, o.ID)
	if errors.Is(err, seckill.OrderNotFound) { // deleted in between: nothing is decided
		err = &seckill.Error{Op: op, Code: seckill.Unavailable, Err: fmt.Errorf("the row of order %d is gone again", o.ID)}
	}
	return row, err
}

// ReleasesDue lists dead orders whose unit Redis may still count as sold, at most limit.
func (s *Store) ReleasesDue(ctx context.Context, limit int) ([]seckill.Order, error) {
	var rows []orderRow
	query := "SELECT " + orderColumns + " FROM voucher_order WHERE release_due = 1 LIMIT ?"
	if err := s.db.SelectContext(ctx, &rows, query, limit); err != nil {
		return nil, fault("sqlstore.ReleasesDue", err)
	}
	orders := make([]seckill.Order, len(rows))
	for i, row := range rows {
		orders[i] = row.order()
	}
	return orders, nil
}

// ReleasesDone notes that Redis has given back the units of these orders.
func (s *Store) ReleasesDone(ctx context.Context, ids []seckill.OrderID) error {
	query := "UPDATE voucher_order SET release_due = 0, updated_at = " + s.dialect.now + " WHERE release_due = 1 AND id IN (?)"
	for some := range slices.Chunk(ids, chunk) {
		query, args, err := sqlx.In(query, some)
		if err == nil {
			_, err = s.db.ExecContext(ctx, query, args...)
		}
		if err != nil {
			return fault("sqlstore.ReleasesDone", err)
		}
	}
	return nil
}

// MaxSequence is the highest lower half of the order ids in [from, to), of those that leave p
// when divided by so many partitions; 0 if there are none.
func (s *Store) MaxSequence(ctx context.Context, from, to seckill.OrderID, p, partitions int) (int64, error) {
	var highest int64
	const query = "SELECT COALESCE(MAX(id & 4294967295), 0) FROM voucher_order WHERE id >= ? AND id < ? AND (id & 4294967295) % ? = ?"
	err := s.db.GetContext(ctx, &highest, query, from, to, partitions, p)
	return highest, fault("sqlstore.MaxSequence", err)
}

func byID(rows []orderRow) map[seckill.OrderID]seckill.Order {
	orders := make(map[seckill.OrderID]seckill.Order, len(rows))
	for _, row := range rows {
		orders[row.ID] = row.order()
	}
	return orders
}
