package books

import (
	"context"
	"slices"
	"time"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// findingsMax is how many differences a report names; past that it counts them.
const findingsMax = 1000

const (
	passingMax = 10                     // looks at what is under way, before an audit tells what it sees
	changeMax  = 3                      // of these, at a change that has reached one of the two stores
	passing    = 500 * time.Millisecond // between two of them
)

// Audit compares Redis and SQL about one voucher, at any time, and changes nothing. What a
// sync or a change has in hand is no drift: its end is waited for, some seconds.
func (b *Books) Audit(ctx context.Context, v seckill.VoucherID) (r seckill.Report, err error) {
	for try := range passingMax {
		if r, err = b.audit(ctx, v); err != nil || r.Balanced() {
			return r, err
		}
		if moving, err := b.moving(ctx, r, try); err != nil || !moving || run.Wait(ctx, passing) != nil {
			return r, err
		}
	}
	return b.audit(ctx, v)
}

// moving reports whether the voucher as a whole may be even in a moment.
func (b *Books) moving(ctx context.Context, r seckill.Report, try int) (bool, error) {
	if r.Redis.State != "open" {
		syncing, err := b.redis.Syncing(ctx, r.Voucher)
		return syncing || r.Redis.State == "loading" && try < changeMax, err // not every sync waits for its turn
	}
	// Not the version alone: a cut brings it to Redis first, and the window last.
	return !r.Agrees() && try < changeMax, nil
}

func (b *Books) audit(ctx context.Context, v seckill.VoucherID) (r seckill.Report, err error) {
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
