package books

import (
	"context"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Report is the books of one voucher. While a sale runs its numbers are read one after the
// other and need not add up; the verdict rests on what stays true meanwhile.
type Report struct {
	Voucher    seckill.VoucherID  `json:"voucherId"`
	Redis      seckill.RedisBooks `json:"redis"`
	SQL        seckill.SQLBooks   `json:"sql"`
	Waiting    int                `json:"waiting"`    // orders in the stream, read or not
	ReleaseDue int                `json:"releaseDue"` // tickets of dead orders that workers will release
	Drift      []Finding          `json:"drift"`      // what nothing under way explains
}

// Balanced is the verdict: the voucher sells, each store balances by itself, and every
// user is the same in both, or on the way to be.
func (r Report) Balanced() bool { return len(r.Drift) == 0 }

// AtRest reports whether nothing is under way, and both stores agree to the unit.
func (r Report) AtRest() bool {
	return r.Balanced() && r.Waiting == 0 && r.ReleaseDue == 0 && r.SQL.ReleaseDue == 0 &&
		r.Redis.Stock == r.SQL.Stock && r.Redis.Buyers == r.SQL.Live() && r.Redis.Total == r.SQL.Total
}

// Audit compares Redis and SQL about one voucher, at any time, and changes nothing.
func (b *Books) Audit(ctx context.Context, v seckill.VoucherID) (r Report, err error) {
	r.Voucher, r.Drift = v, []Finding{}
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
	r.Drift = append(r.uneven(), r.Drift...)
	return r, nil
}

// uneven names what is wrong with the voucher as a whole.
func (r Report) uneven() (found []Finding) {
	switch {
	case r.Redis.State != "open":
		found = append(found, Finding{Kind: NotLoaded})
	case !r.Redis.Balanced():
		found = append(found, Finding{Kind: RedisUneven})
	}
	if !r.SQL.Balanced() {
		found = append(found, Finding{Kind: SQLUneven})
	}
	return found
}
