package sqlstore

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// A user has few orders, which one index finds. "id + 0" keeps the database from walking down
// the primary key instead, through everybody's, because that is in order already.
const ordersOf = "SELECT " + orderColumns + " FROM voucher_order WHERE user_id = ? AND id + 0 < ? ORDER BY id + 0 DESC LIMIT ?"

// OrdersOf reads at most limit orders of a user below an id, live or dead, the newest first:
// ids grow with time.
func (s *Store) OrdersOf(ctx context.Context, u seckill.UserID, before seckill.OrderID, limit int) ([]seckill.Order, error) {
	var rows []orderRow
	if err := s.db.SelectContext(ctx, &rows, ordersOf, u, before, limit); err != nil {
		return nil, fault("sqlstore.OrdersOf", err)
	}
	orders := make([]seckill.Order, len(rows))
	for i, row := range rows {
		orders[i] = row.order()
	}
	return orders, nil
}
