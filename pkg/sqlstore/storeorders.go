package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// StoreOrders writes rows and deductions of accepted orders, and says what became of each,
// in the order given. Orders may be of many vouchers, and may repeat. epochs are those of
// their vouchers, read before the orders were read; without one an order is Stale.
//
// Every order is inserted before anything is said about it: the unique indexes decide,
// never an earlier SELECT. With an error nothing is known, and some may have been stored;
// the same call again finds those AlreadyStored.
func (s *Store) StoreOrders(ctx context.Context, orders []seckill.Order, epochs map[seckill.VoucherID]int64) ([]seckill.Verdict, error) {
	const op = "sqlstore.StoreOrders"
	b := newBatch(orders, epochs)
	for len(b.pending) > 0 {
		part := b.next()
		decided, err := s.judge(ctx, part, epochs, s.storePart(ctx, part, epochs))
		if err == nil {
			err = b.settle(part, decided)
		}
		if err != nil {
			return nil, fault(op, err)
		}
	}
	return b.answers(orders), nil
}

// storePart stores all orders of a part in one transaction, or none.
func (s *Store) storePart(ctx context.Context, part []seckill.Order, epochs map[seckill.VoucherID]int64) error {
	return s.contend(ctx, func(tx *sqlx.Tx) error {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.insertOrders(ctx, tx, part, now); err != nil {
			return err
		}
		if err := note(ctx, tx, part, seckill.Created, "", now); err != nil {
			return err
		}
		return deduct(ctx, tx, part, epochs)
	})
}

// insertOrders writes the numbers out, so that nothing has to be put into placeholders.
func (s *Store) insertOrders(ctx context.Context, tx *sqlx.Tx, part []seckill.Order, now int64) error {
	for some := range slices.Chunk(part, chunk) {
		if _, err := tx.ExecContext(ctx, insertStatement(some, s.times(now))); err != nil {
			return &rowError{err}
		}
	}
	return nil
}

// times are the last columns of each row: created, updated, expires.
func (s *Store) times(now int64) string {
	if s.payTimeout <= 0 {
		return fmt.Sprintf("%d, %d, NULL", now, now)
	}
	return fmt.Sprintf("%d, %d, %d", now, now, now+s.payTimeout.Milliseconds())
}

func insertStatement(orders []seckill.Order, times string) string {
	const head = "INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at, expires_at) VALUES "
	const digits = 20 // of the longest id
	text := make([]byte, 0, len(head)+len(orders)*(3*digits+len(times)+len("(, , , 'created', ), ")))
	text = append(text, head...)
	for i, o := range orders {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(append(text, '('), int64(o.ID), 10)
		text = strconv.AppendInt(append(text, ", "...), int64(o.User), 10)
		text = strconv.AppendInt(append(text, ", "...), int64(o.Voucher), 10)
		text = append(append(append(text, ", 'created', "...), times...), ')')
	}
	return string(text)
}

// deduct comes last: everybody else waits for the voucher's row from here to the commit.
func deduct(ctx context.Context, tx *sqlx.Tx, part []seckill.Order, epochs map[seckill.VoucherID]int64) error {
	const query = "UPDATE seckill_voucher SET stock = stock - ? WHERE id = ? AND epoch = ? AND stock >= ?"
	units := make(map[seckill.VoucherID]int64)
	for _, o := range part {
		units[o.Voucher]++
	}
	vouchers := slices.Sorted(maps.Keys(units))
	for i, v := range vouchers {
		result, err := tx.ExecContext(ctx, query, units[v], int64(v), epochs[v], units[v])
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if changed == 0 {
			return refuse(ctx, tx, vouchers[i:])
		}
	}
	return nil
}

// refuse finds out why a deduction changed nothing, and what else would be refused. It asks
// before the transaction ends: so long its rows keep everybody else from storing the same
// orders, and what is said of them here is true.
func refuse(ctx context.Context, tx *sqlx.Tx, vouchers []seckill.VoucherID) error {
	found, err := marks(ctx, tx, vouchers)
	if err != nil {
		return err
	}
	return &refusal{from: vouchers[0], marks: found}
}

// judge says which orders of a part are decided, given how storing it went. None decided:
// a smaller part may tell.
func (s *Store) judge(ctx context.Context, part []seckill.Order, epochs map[seckill.VoucherID]int64, failure error) (map[claim]*seckill.Verdict, error) {
	if failure == nil {
		return all(part, seckill.Stored), nil
	}
	if refused, ok := errors.AsType[*refusal](failure); ok {
		return refused.judge(part, epochs), nil
	}
	if _, ok := errors.AsType[*rowError](failure); !ok {
		return nil, failure
	}
	switch code := codeOf(failure); {
	case code == seckill.Conflict:
		return s.judgeRows(ctx, part)
	case code != seckill.Invalid:
		return nil, failure
	case len(part) == 1:
		return all(part, seckill.Malformed), nil
	default:
		return nil, nil
	}
}

// judgeRows finds the rows that a part collided with. None may be left by now: its writer
// rolled back, or it died. What users hold is read before the orders themselves, so that an
// order stored in between is found as itself, and not as one that its user holds besides.
func (s *Store) judgeRows(ctx context.Context, part []seckill.Order) (map[claim]*seckill.Verdict, error) {
	ids, users := make([]seckill.OrderID, len(part)), make(map[seckill.VoucherID][]seckill.UserID)
	for i, o := range part {
		ids[i] = o.ID
		users[o.Voucher] = append(users[o.Voucher], o.User)
	}
	live := make(map[seckill.VoucherID]map[seckill.UserID]seckill.Order, len(users))
	for v, us := range users {
		var err error
		if live[v], err = s.LiveOrders(ctx, v, us); err != nil {
			return nil, err
		}
	}
	rows, err := s.Rows(ctx, ids)
	if err != nil {
		return nil, err
	}
	decided := make(map[claim]*seckill.Verdict)
	for _, o := range part {
		row, stored := rows[o.ID]
		holding, holds := live[o.Voucher][o.User]
		switch {
		case stored && row.Same(o):
			decided[claimOf(o)] = &seckill.Verdict{Outcome: seckill.AlreadyStored, Row: row}
		case stored:
			decided[claimOf(o)] = &seckill.Verdict{Outcome: seckill.IDClash, Row: row}
		case holds:
			decided[claimOf(o)] = &seckill.Verdict{Outcome: seckill.Duplicate, Row: holding}
		}
	}
	return decided, nil
}
