package books

import (
	"context"
	"errors"
	"time"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// What changes a voucher in Redis while it sells.
type changer interface {
	Change(ctx context.Context, v seckill.Voucher) error
	Cut(ctx context.Context, v seckill.VoucherID, total, version int64) error
}

// What decides on a change.
type decider interface {
	ChangeVoucher(ctx context.Context, want seckill.Voucher, by seckill.Deed) (seckill.Voucher, error)
}

const (
	applyTries = 4                      // before Redis that never is where SQL is counts as not ready
	underWay   = 200 * time.Millisecond // a change may take so long from one store to the other
)

// Change gives a voucher the title, total and window of want, if its version is still that
// of want, and logs the deed. It returns the voucher as SQL has it then; Apply brings the
// rest of it to Redis. Outdated: another change was first. BelowSold, with a Held: the total
// is below what is held, queued orders included.
//
// Only Redis knows all that is held, so a cut is made there first. It stands under the
// version that SQL is about to get; whoever dies in between leaves Redis ahead, which the
// next sync settles for SQL.
func (b *Books) Change(ctx context.Context, want seckill.Voucher, by seckill.Deed) (seckill.Voucher, error) {
	was, err := b.sql.Voucher(ctx, want.ID)
	if err != nil {
		return was, err
	}
	if was.Version != want.Version {
		return was, &seckill.Error{Op: "books.Change", Code: seckill.Outdated}
	}
	if want.Total >= was.Total {
		return b.sql.ChangeVoucher(ctx, want, by)
	}
	return b.cut(ctx, want, was, by)
}

// cut lowers the total. Where Redis is not where SQL is, or a sync came in between, both
// are brought together first.
func (b *Books) cut(ctx context.Context, want, was seckill.Voucher, by seckill.Deed) (seckill.Voucher, error) {
	var refused error
	for range applyTries {
		want.Epoch = was.Epoch
		v, err := b.cutOnce(ctx, want, by)
		if !errors.Is(err, seckill.Outdated) && !errors.Is(err, seckill.NotReady) {
			return v, err
		}
		refused = err
		if err := b.Apply(ctx, want.ID); err != nil {
			return was, err
		}
		if was, err = b.sql.Voucher(ctx, want.ID); err != nil || was.Version != want.Version {
			return was, errors.Join(refused, err)
		}
	}
	return was, refused
}

// cutOnce lowers the total in Redis, then in SQL if nothing was synced since the epoch of
// want was read: a sync in between may have opened the sale with the old total.
func (b *Books) cutOnce(ctx context.Context, want seckill.Voucher, by seckill.Deed) (seckill.Voucher, error) {
	if err := b.redis.Cut(ctx, want.ID, want.Total, want.Version); err != nil {
		return want, err
	}
	v, err := b.sql.ChangeVoucher(ctx, want, by)
	if err != nil { // Redis is ahead, or nobody knows: a sync settles either
		err = errors.Join(err, b.Sync(ctx, want.ID))
	}
	return v, err
}

// Apply brings total and window of a voucher to Redis as SQL has them, without closing the
// sale where Redis has it open and is not ahead. It may be called any number of times, by
// any process, and whatever else goes on: an older version never overwrites a newer one.
func (b *Books) Apply(ctx context.Context, v seckill.VoucherID) error {
	var refused error
	for try := range applyTries {
		current, err := b.sql.Voucher(ctx, v)
		if err != nil {
			return err
		}
		refused = b.redis.Change(ctx, current)
		switch {
		case errors.Is(refused, seckill.Outdated) && try == 0:
			err = run.Wait(ctx, underWay) // a cut may be on its way to SQL
		case errors.Is(refused, seckill.Outdated), errors.Is(refused, seckill.NotReady):
			err = b.Sync(ctx, v) // it may join a run that has read SQL before the change: look again
		default:
			return refused
		}
		if err != nil {
			return err
		}
	}
	return refused
}
