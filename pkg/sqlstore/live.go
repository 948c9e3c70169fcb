package sqlstore

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// EachLive hands out the live orders of a voucher as they are at one moment, in pages of up
// to size and in no order. It reads as fast as fn takes them, in one statement: pages by
// key would make the database count through the index from its beginning for each of them.
// An error of fn comes back as it is; fn must not use this store, and keeps no page.
func (s *Store) EachLive(ctx context.Context, v seckill.VoucherID, size int, fn func([]seckill.Holder) error) error {
	const op = "sqlstore.EachLive"
	rows, err := s.db.QueryContext(ctx, liveHolders, v)
	if err != nil {
		return fault(op, err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what went wrong
	page := make([]seckill.Holder, 0, size)
	for more := true; more; {
		if more = rows.Next(); more {
			var h seckill.Holder
			if err := rows.Scan(&h.User, &h.Order); err != nil {
				return fault(op, err)
			}
			page = append(page, h)
		}
		if len(page) == size || !more && len(page) > 0 {
			if err := fn(page); err != nil {
				return err
			}
			page = page[:0]
		}
	}
	return fault(op, rows.Err())
}
