package sqlstore

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Pool tells the use of the connections.
func (s *Store) Pool() seckill.Pool {
	stats := s.db.Stats()
	return seckill.Pool{
		Name: "sql", Used: int64(stats.InUse), Max: int64(stats.MaxOpenConnections), Waits: uint64(stats.WaitCount),
	}
}

// OnSale lists at most limit vouchers whose window is open by the database's clock, those
// that began last first.
func (s *Store) OnSale(ctx context.Context, limit int) ([]seckill.VoucherID, error) {
	var ids []seckill.VoucherID
	query := "SELECT id FROM seckill_voucher WHERE begin_at <= " + s.dialect.now + " AND end_at > " + s.dialect.now +
		" ORDER BY begin_at DESC, id DESC LIMIT ?"
	err := s.db.SelectContext(ctx, &ids, query, limit)
	return ids, fault("sqlstore.OnSale", err)
}

// ReleasesWaiting counts the dead orders whose unit Redis may still count as sold.
func (s *Store) ReleasesWaiting(ctx context.Context) (n int64, err error) {
	err = s.db.GetContext(ctx, &n, "SELECT COUNT(*) FROM voucher_order WHERE release_due = 1")
	return n, fault("sqlstore.ReleasesWaiting", err)
}
