package books

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Audit compares Redis and SQL about one voucher, at any time, and changes nothing.
func (b *Books) Audit(ctx context.Context, v seckill.VoucherID) (r seckill.Report, err error) {
	r.Voucher, r.Drift = v, []seckill.Finding{}
	if _, err := b.sql.Voucher(ctx, v); err != nil {
		return r, err
	}
	found, err := b.inspect(ctx, v)
	if err != nil {
		return r, err
	}
	for _, f := range found {
		if f.Due {
			r.ReleaseDue++
		} else {
			r.Drift = append(r.Drift, f)
		}
	}
	if r.Redis, err = b.redis.Books(ctx, v); err != nil {
		return r, err
	}
	waiting, err := b.redis.Waiting(ctx, v)
	if err != nil {
		return r, err
	}
	r.Waiting = len(waiting)
	if r.SQL, err = b.sql.Books(ctx, v); err != nil {
		return r, err
	}
	r.Drift = append(r.Uneven(), r.Drift...)
	return r, nil
}
