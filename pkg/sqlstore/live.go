package sqlstore

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Live reads up to limit live orders of a voucher by ascending id, from the one after
// after on. Each status is a range of one index that is in order by itself.
func (s *Store) Live(ctx context.Context, v seckill.VoucherID, after seckill.OrderID, limit int) ([]seckill.Holder, error) {
	const part = `SELECT * FROM (SELECT user_id, id FROM voucher_order
		WHERE voucher_id = ? AND status = ? AND release_due = 0 AND id > ? ORDER BY id LIMIT ?) AS `
	const query = part + "created UNION ALL " + part + "paid ORDER BY id LIMIT ?"
	var rows []struct {
		User  seckill.UserID  `db:"user_id"`
		Order seckill.OrderID `db:"id"`
	}
	err := s.db.SelectContext(ctx, &rows, query,
		v, seckill.Created, after, limit, v, seckill.Paid, after, limit, limit)
	if err != nil {
		return nil, fault("sqlstore.Live", err)
	}
	live := make([]seckill.Holder, len(rows))
	for i, row := range rows {
		live[i] = seckill.Holder(row)
	}
	return live, nil
}
