package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Cancel lets an unpaid order die and takes its unit back, in one transaction. An order that
// is dead already is returned as it is. CodePaid: the payment came first. OrderNotFound: it
// has no row, and may be queued.
//
// As of all that changes an order after it was stored, the condition of one UPDATE decides
// who was first, never a SELECT before it. The order's row is locked before the voucher's.
func (s *Store) Cancel(ctx context.Context, id seckill.OrderID) (seckill.Order, error) {
	const op = "sqlstore.Cancel"
	var row orderRow
	err := s.contend(ctx, func(tx *sqlx.Tx) error {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		won, err := leave(ctx, tx, id, seckill.Cancelled, now)
		if err != nil {
			return err
		}
		if row, err = orderIn(ctx, tx, op, id); err != nil {
			return err
		}
		switch {
		case won:
			return die(ctx, tx, []seckill.Order{row.order()}, "", now)
		case row.Status == seckill.Paid:
			return &seckill.Error{Op: op, Code: seckill.CodePaid}
		case row.Status == seckill.Created: // stored between the two statements
			return &seckill.Error{Op: op, Code: seckill.CodeQueued}
		default:
			return nil
		}
	})
	if err != nil {
		return seckill.Order{}, fault(op, err)
	}
	return row.order(), nil
}

// leave moves an order away from created, and reports whether it was the one that did. The
// predicate is on what the statement changes: counted rows and changed rows are the same.
func leave(ctx context.Context, tx *sqlx.Tx, id seckill.OrderID, to seckill.Status, now int64) (bool, error) {
	const query = "UPDATE voucher_order SET status = ?, release_due = ?, updated_at = ? WHERE id = ? AND status = 'created'"
	result, err := tx.ExecContext(ctx, query, to, !to.Live(), now, id)
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	return changed == 1, err
}

// orderIn reads an order as the transaction sees it; OrderNotFound if it has no row.
func orderIn(ctx context.Context, tx *sqlx.Tx, op string, id seckill.OrderID) (row orderRow, err error) {
	err = tx.GetContext(ctx, &row, "SELECT "+orderColumns+" FROM voucher_order WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		err = &seckill.Error{Op: op, Code: seckill.OrderNotFound}
	}
	return row, err
}

// die notes that this transaction cancelled orders, and takes their units back: the
// vouchers last, and in the order of their keys.
func die(ctx context.Context, tx *sqlx.Tx, orders []seckill.Order, why seckill.Reason, now int64) error {
	if err := note(ctx, tx, orders, seckill.Cancelled, why, now); err != nil {
		return err
	}
	units := make(map[seckill.VoucherID]int64)
	for _, o := range orders {
		units[o.Voucher]++
	}
	for _, v := range slices.Sorted(maps.Keys(units)) {
		if _, err := tx.ExecContext(ctx, "UPDATE seckill_voucher SET stock = stock + ? WHERE id = ?", units[v], v); err != nil {
			return err
		}
	}
	return nil
}
