package books

import (
	"context"
	"errors"
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Repair mends what Redis has wrong of single users, while the voucher sells. It changes
// a user only if the ticket is still the one that was read, and may run any number of
// times, anywhere. It returns what it mended, and how many differences only a Sync can
// mend. Books that do not balance as a whole are left to that, too.
func (b *Books) Repair(ctx context.Context, v seckill.VoucherID) (mended []seckill.Finding, left int, err error) {
	_, err = b.inspect(ctx, v, func(f seckill.Finding) error {
		if f.Due {
			return nil // the workers are about to
		}
		done, err := b.mend(ctx, v, f)
		if done && err == nil {
			b.log.WarnContext(ctx, "books repaired", "voucher", v, "finding", f.String())
			mended = append(mended, f)
		} else if f.Kind.Remedy() == seckill.RemedySync {
			left++
		}
		return err
	})
	if errors.Is(err, seckill.NotReady) {
		return mended, left, nil // closed, or unbalanced: the sync sees to it
	}
	return mended, left, err
}

// Mend does what can be done about all that an Audit finds: it repairs single users and,
// where that is not enough, syncs.
func (b *Books) Mend(ctx context.Context, v seckill.VoucherID) error {
	_, left, err := b.Repair(ctx, v)
	if err != nil {
		return err
	}
	if left == 0 {
		if even, err := b.even(ctx, v); err != nil || even {
			return err
		}
	}
	return b.Sync(ctx, v)
}

// even reports whether a sync would find nothing to do for the voucher as a whole.
func (b *Books) even(ctx context.Context, v seckill.VoucherID) (even bool, err error) {
	var r seckill.Report
	if r.Redis, err = b.redis.Books(ctx, v); err != nil {
		return false, err
	}
	if r.SQL, err = b.sql.Books(ctx, v); err != nil {
		return false, err
	}
	return !slices.ContainsFunc(r.Uneven(), func(f seckill.Finding) bool { return f.Remedy == seckill.RemedySync }), nil
}

func (b *Books) mend(ctx context.Context, v seckill.VoucherID, f seckill.Finding) (done bool, err error) {
	var ticket seckill.OrderID
	if f.Ticket != "" {
		if ticket, err = seckill.ParseOrderID(f.Ticket); err != nil {
			return false, nil // not ours to judge while it sells
		}
	}
	held := orderOf(v, seckill.Holder{User: f.User, Order: ticket})
	switch f.Kind {
	case seckill.DeadTicket:
		return b.redis.Release(ctx, held)
	case seckill.LostEntry:
		return b.redis.Requeue(ctx, held)
	case seckill.NoTicket, seckill.OtherLive:
		// The lock keeps the order from dying between the look and the mark.
		_, err := b.sql.HoldLive(ctx, f.Live, func(ctx context.Context) (err error) {
			done, err = b.redis.Mark(ctx, orderOf(v, seckill.Holder{User: f.User, Order: f.Live}), ticket)
			return err
		})
		return done, err
	case seckill.WrongTicket, seckill.NoBuyer, seckill.ForeignBuyer, seckill.NotLoaded, seckill.RedisUneven, seckill.OtherVersion, seckill.SQLUneven, seckill.NoVoucher:
		return false, nil // the next sync sees to it
	}
	return false, nil
}
