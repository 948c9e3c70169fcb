package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Expire cancels up to limit unpaid orders whose time is over by the database's clock, takes
// their units back, and returns them. Any number of processes may call it at once: each
// order is returned to one of them. Orders keep the time that they were given when they were
// stored, whatever PayTimeout is now.
func (s *Store) Expire(ctx context.Context, limit int) ([]seckill.Order, error) {
	var orders []seckill.Order
	err := s.contend(ctx, func(tx *sqlx.Tx) (err error) {
		now, err := s.clock(ctx, tx)
		if err != nil {
			return err
		}
		if orders, err = s.overdue(ctx, tx, now, limit); err != nil || len(orders) == 0 {
			return err
		}
		if err := expire(ctx, tx, orders, now); err != nil {
			return err
		}
		return die(ctx, tx, orders, seckill.ReasonExpired, now)
	})
	if err != nil {
		return nil, fault("sqlstore.Expire", err)
	}
	return orders, nil
}

// overdue locks unpaid orders whose time is over, and returns them as they will be. Those
// that somebody else has in hand, another worker or a payment, are passed over.
func (s *Store) overdue(ctx context.Context, tx *sqlx.Tx, now int64, limit int) ([]seckill.Order, error) {
	var rows []orderRow
	query := "SELECT " + orderColumns + " FROM voucher_order" +
		" WHERE release_due = 0 AND status = 'created' AND expires_at <= ? ORDER BY expires_at LIMIT ?" + s.dialect.skipLocked
	if err := tx.SelectContext(ctx, &rows, query, now, limit); err != nil {
		return nil, err
	}
	orders := make([]seckill.Order, len(rows))
	for i, row := range rows {
		orders[i] = row.order()
		orders[i].Status, orders[i].Reason, orders[i].ReleaseDue = seckill.Cancelled, seckill.ReasonExpired, true
	}
	return orders, nil
}

// expire changes the orders that the transaction has locked: all of them, or it fails.
func expire(ctx context.Context, tx *sqlx.Tx, orders []seckill.Order, now int64) error {
	ids := make([]seckill.OrderID, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	const query = "UPDATE voucher_order SET status = 'cancelled', reason = 'expired', release_due = 1, updated_at = ?" +
		" WHERE status = 'created' AND id IN (?)"
	changed := int64(0)
	for some := range slices.Chunk(ids, chunk) {
		query, args, err := sqlx.In(query, now, some)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		changed += n
	}
	if changed != int64(len(orders)) {
		return fmt.Errorf("%d of %d locked orders changed", changed, len(orders))
	}
	return nil
}
