package books

import (
	"context"
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
)

// findingsMax is how many differences a report names; past that it counts them.
const findingsMax = 1000

// Audit compares Redis and SQL about one voucher, at any time, and changes nothing.
func (b *Books) Audit(ctx context.Context, v seckill.VoucherID) (r seckill.Report, err error) {
	r.Voucher, r.Drift = v, []seckill.Finding{}
	if _, err := b.sql.Voucher(ctx, v); err != nil {
		return r, err
	}
	r.Waiting, err = b.inspect(ctx, v, func(f seckill.Finding) error {
		if f.Due {
			r.ReleaseDue++
		} else {
			r.Add(f, findingsMax)
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	if r.Redis, err = b.redis.Books(ctx, v); err != nil {
		return r, err
	}
	if r.Pending, r.Buried, err = b.redis.InHand(ctx, v); err != nil {
		return r, err
	}
	if r.SQL, err = b.sql.Books(ctx, v); err != nil {
		return r, err
	}
	r.Drift = slices.Insert(r.Drift, 0, r.Uneven()...) // never nil: in JSON a list is a list
	return r, nil
}
