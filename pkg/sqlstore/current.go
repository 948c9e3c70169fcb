package sqlstore

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Current reads at most limit vouchers whose sale is not over for longer than a quarter of an
// hour by the database's clock: those on sale first, then those that begin last.
func (s *Store) Current(ctx context.Context, limit int) ([]seckill.Voucher, error) {
	const lately = "900000" // ms
	now := s.dialect.now
	var rows []voucherRow
	query := "SELECT " + voucherColumns + " FROM seckill_voucher WHERE end_at > " + now + " - " + lately +
		" ORDER BY CASE WHEN begin_at <= " + now + " AND end_at > " + now + " THEN 0 ELSE 1 END, begin_at DESC, id DESC LIMIT ?"
	if err := s.db.SelectContext(ctx, &rows, query, limit); err != nil {
		return nil, fault("sqlstore.Current", err)
	}
	vouchers := make([]seckill.Voucher, len(rows))
	for i, row := range rows {
		vouchers[i] = row.voucher()
	}
	return vouchers, nil
}
