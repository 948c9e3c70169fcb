package sqlstore

import (
	"context"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// ForgetOrders deletes up to limit orders of a voucher with their payments, and gives their
// units back; it returns how many. The epoch rises first, so that what a worker has in hand
// is not stored past it. What is in the outbox stays: other systems may have been told.
func (s *Store) ForgetOrders(ctx context.Context, v seckill.VoucherID, limit int) (n int, err error) {
	err = s.contend(ctx, func(tx *sqlx.Tx) error {
		n = 0
		if _, err := tx.ExecContext(ctx, "UPDATE seckill_voucher SET epoch = epoch + 1 WHERE id = ?", v); err != nil {
			return err
		}
		var rows []orderRow
		query := "SELECT " + orderColumns + " FROM voucher_order WHERE voucher_id = ? LIMIT ?"
		if err := tx.SelectContext(ctx, &rows, query, v, limit); err != nil {
			return err
		}
		live, ids := 0, make([]seckill.OrderID, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
			if row.Status.Live() {
				live++
			}
		}
		for _, query := range []string{
			"DELETE FROM payment WHERE order_id IN (?)",
			"DELETE FROM late_payment WHERE order_id IN (?)",
			"DELETE FROM voucher_order WHERE id IN (?)",
		} {
			if err := execIn(ctx, tx, query, ids); err != nil {
				return err
			}
		}
		n = len(ids)
		_, err := tx.ExecContext(ctx, "UPDATE seckill_voucher SET stock = stock + ? WHERE id = ?", live, v)
		return err
	})
	return n, fault("sqlstore.ForgetOrders", err)
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
