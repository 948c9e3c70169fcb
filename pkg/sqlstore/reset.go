package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// ForgetOrders deletes all orders of a voucher with their payments, and gives their units
// back, in one transaction that holds the voucher's row from its first statement: nobody
// stores, syncs or changes it meanwhile. first runs in it before any row goes; its error ends
// it, and it returns the last id that may belong to an order that is forgotten. It may run
// again where another transaction was in the way, and must not use this store. The epoch
// rises, so that what a worker has in hand is not stored past it. What is in the outbox
// stays: other systems may have been told. VoucherNotFound if there is no such voucher.
func (s *Store) ForgetOrders(ctx context.Context, v seckill.VoucherID, first func(ctx context.Context, v seckill.Voucher) (last seckill.OrderID, err error)) (n int, err error) {
	const op = "sqlstore.ForgetOrders"
	var failure error // of first, which need not speak in codes
	err = s.contend(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE seckill_voucher SET epoch = epoch + 1 WHERE id = ?", v); err != nil {
			return err
		}
		voucher, err := lockedVoucher(ctx, tx, op, v)
		if err != nil {
			return err
		}
		var last seckill.OrderID
		if last, failure = first(ctx, voucher); failure != nil {
			return failure
		}
		var live int
		if n, live, last, err = forgetRows(ctx, tx, v, last); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE seckill_voucher SET stock = stock + ?, forgotten = CASE WHEN forgotten < ? THEN ? ELSE forgotten END WHERE id = ?", live, last, last, v)
		return err
	})
	if failure != nil {
		return 0, failure
	}
	return n, fault(op, err)
}

// forgetRows deletes the rows of a voucher, and returns how many they were, how many of them
// live, and the larger of last and their ids. They are looked for once: what this transaction
// has deleted is passed over again by each search.
func forgetRows(ctx context.Context, tx *sqlx.Tx, v seckill.VoucherID, last seckill.OrderID) (n, live int, _ seckill.OrderID, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, status FROM voucher_order WHERE voucher_id = ?", v)
	if err != nil {
		return 0, 0, last, err
	}
	defer func() { _ = rows.Close() }() // rows.Err says what went wrong
	var ids []seckill.OrderID
	for rows.Next() {
		var id seckill.OrderID
		var status seckill.Status
		if err := rows.Scan(&id, &status); err != nil {
			return 0, 0, last, err
		}
		ids, last = append(ids, id), max(last, id)
		if status.Live() {
			live++
		}
	}
	if err := rows.Err(); err != nil {
		return 0, 0, last, err
	}
	for _, query := range []string{
		"DELETE FROM payment WHERE order_id IN (?)",
		"DELETE FROM late_payment WHERE order_id IN (?)",
		"DELETE FROM voucher_order WHERE id IN (?)",
	} {
		if err := execIn(ctx, tx, query, ids); err != nil {
			return 0, 0, last, err
		}
	}
	return len(ids), live, last, nil
}

// Forgotten returns the last id that may belong to an order that a reset forgot; 0: there was
// none. VoucherNotFound if there is no such voucher.
func (s *Store) Forgotten(ctx context.Context, v seckill.VoucherID) (last seckill.OrderID, err error) {
	const op = "sqlstore.Forgotten"
	err = s.db.GetContext(ctx, &last, "SELECT forgotten FROM seckill_voucher WHERE id = ?", v)
	if errors.Is(err, sql.ErrNoRows) {
		err = &seckill.Error{Op: op, Code: seckill.VoucherNotFound}
	}
	return last, fault(op, err)
}

func execIn(ctx context.Context, tx *sqlx.Tx, query string, ids []seckill.OrderID) error {
	for some := range slices.Chunk(ids, chunk) {
		query, args, err := sqlx.In(query, some)
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
