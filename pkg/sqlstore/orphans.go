package sqlstore

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Orphans counts by status the orders of vouchers that have no row of their own any more.
// Rejected ones do not make an orphan: a message may name a voucher that never was.
func (s *Store) Orphans(ctx context.Context) (map[seckill.VoucherID]map[seckill.Status]int64, error) {
	// DISTINCT leaps through the index from voucher to voucher.
	const query = `SELECT o.voucher_id, o.status, COUNT(*) AS orders
		FROM (SELECT DISTINCT voucher_id FROM voucher_order) d
		LEFT JOIN seckill_voucher v ON v.id = d.voucher_id
		JOIN voucher_order o ON o.voucher_id = d.voucher_id
		WHERE v.id IS NULL AND o.status <> 'rejected' GROUP BY o.voucher_id, o.status`
	var rows []struct {
		Voucher seckill.VoucherID `db:"voucher_id"`
		Status  seckill.Status    `db:"status"`
		Orders  int64             `db:"orders"`
	}
	if err := s.db.SelectContext(ctx, &rows, query); err != nil {
		return nil, fault("sqlstore.Orphans", err)
	}
	found := map[seckill.VoucherID]map[seckill.Status]int64{}
	for _, row := range rows {
		if found[row.Voucher] == nil {
			found[row.Voucher] = map[seckill.Status]int64{}
		}
		found[row.Voucher][row.Status] = row.Orders
	}
	return found, nil
}
