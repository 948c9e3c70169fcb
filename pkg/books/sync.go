package books

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	syncTries   = 8                      // before a sync that others keep ending gives up
	syncPause   = 100 * time.Millisecond // about, times the number of the try
	requeueMost = 16                     // at the same time
)

// Sync brings a voucher's keys in line with SQL and lets it sell. Orders in flight stay,
// and it may be run at any time, by any number of processes: calls in one process share a
// run, and of several processes one gets through. A process that dies half way leaves the
// voucher closed; the next sync starts over.
//
// Its rules and their order come from the protocol model: see DESIGN.md, "Sync".
func (b *Books) Sync(ctx context.Context, v seckill.VoucherID) error {
	share := func(ctx context.Context) error { return b.share(ctx, v) }
	if ran, err := b.redis.Alone(ctx, v, share); ran || err != nil {
		return err
	}
	return share(ctx) // whoever was at it began before this call
}

// Heal is a Sync that any number of processes ask for at once, because they found the
// voucher closed or wrong: one of them runs it, and the others return when it sells.
func (b *Books) Heal(ctx context.Context, v seckill.VoucherID) error {
	share := func(ctx context.Context) error { return b.share(ctx, v) }
	for {
		if ran, err := b.redis.Alone(ctx, v, share); ran || err != nil {
			return err
		}
		if err := run.Wait(ctx, syncPause); err != nil {
			return &seckill.Error{Op: "books.Heal", Code: seckill.Unavailable, Err: err}
		}
		if b.sells(ctx, v) {
			return nil
		}
	}
}

// share lets calls in one process share a run, which their leaving does not end.
func (b *Books) share(ctx context.Context, v seckill.VoucherID) error {
	done := b.syncs.DoChan(v.String(), func() (any, error) {
		return nil, b.syncUntilOpen(context.WithoutCancel(ctx), v)
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return &seckill.Error{Op: "books.Sync", Code: seckill.Unavailable, Err: context.Cause(ctx)}
	}
}

func (b *Books) sells(ctx context.Context, v seckill.VoucherID) bool {
	r, err := b.redis.Books(ctx, v)
	return err == nil && r.State == "open" && r.Balanced()
}

// syncTime bounds a run that its callers have left.
const syncTime = 2 * time.Minute

func (b *Books) syncUntilOpen(ctx context.Context, v seckill.VoucherID) error {
	const op = "books.Sync"
	ctx, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	if _, err := b.sql.Voucher(ctx, v); err != nil {
		return err // nothing is closed for a voucher that does not exist
	}
	var err error
	for try := range syncTries {
		if err = b.syncOnce(ctx, v); err == nil {
			_, _, err = b.Repair(ctx, v)
			return err
		}
		if !errors.Is(err, seckill.Outdated) && !errors.Is(err, seckill.NotReady) {
			return err
		}
		// Another sync ended this one, or something moved between its steps.
		if ended := run.Wait(ctx, time.Duration(try+1)*(syncPause/2+mrand.N(syncPause))); ended != nil {
			return errors.Join(err, ended)
		}
		if b.sells(ctx, v) {
			return nil
		}
	}
	return &seckill.Error{Op: op, Code: seckill.NotReady, Err: fmt.Errorf("given up after %d tries: %w", syncTries, err)}
}

func (b *Books) syncOnce(ctx context.Context, v seckill.VoucherID) error {
	token := rand.Text()
	if err := b.redis.Load(ctx, v, token); err != nil {
		return err
	}
	// The stream before SQL: what leaves it in between has its row by then.
	seen, err := b.readRedis(ctx, v)
	if err != nil {
		return err
	}
	snap, err := b.sql.Snapshot(ctx, v, seen.ids())
	if err != nil {
		return err
	}
	p := plan(snap, seen)
	// Queued again before the tickets change: only a ticket that names the order lets it.
	if err := b.requeue(ctx, v, p.requeue); err != nil {
		return err
	}
	if err := b.redis.Fill(ctx, v, token, p.fill); err != nil {
		return err
	}
	if err := b.redis.Forget(ctx, v, token, p.forget); err != nil {
		return err
	}
	left, err := b.redis.OpenSale(ctx, snap.Voucher, token)
	if errors.Is(err, seckill.Outdated) {
		return errors.Join(err, b.catchUp(ctx, snap.Voucher))
	}
	if err == nil {
		b.log.InfoContext(ctx, "voucher synced", "voucher", v, "left", left, "held", len(p.fill), "requeued", len(p.requeue), "forgotten", len(p.forget))
	}
	return err
}

// catchUp raises SQL's version where Redis holds a newer one: a change of the total went
// to Redis and its process died before it reached SQL.
func (b *Books) catchUp(ctx context.Context, v seckill.Voucher) error {
	r, err := b.redis.Books(ctx, v.ID)
	if err != nil || r.Version <= v.Version {
		return err
	}
	return b.sql.RaiseVersion(ctx, v.ID, r.Version)
}

// picture is what Redis has of a voucher, two numbers for each: there may be millions.
type picture struct {
	held    []seckill.Holder // tickets
	foreign []seckill.Ticket // those that no program of ours wrote, and buyers that have none
	waiting []seckill.Holder // entries
}

func (b *Books) readRedis(ctx context.Context, v seckill.VoucherID) (seen picture, err error) {
	err = b.redis.Buyers(ctx, v, func(page []seckill.Ticket) error {
		for _, t := range page {
			if h, ok := parse(t); ok {
				seen.held = append(seen.held, h)
			} else {
				seen.foreign = append(seen.foreign, t)
			}
		}
		return nil
	})
	if err != nil {
		return seen, err
	}
	err = b.redis.EachWaiting(ctx, v, func(page []seckill.Holder) error {
		seen.waiting = append(seen.waiting, page...)
		return nil
	})
	return seen, err
}

// ids are those of all orders that Redis knows.
func (p picture) ids() []seckill.OrderID {
	ids := make([]seckill.OrderID, 0, len(p.held)+len(p.waiting))
	for _, h := range p.held {
		ids = append(ids, h.Order)
	}
	for _, h := range p.waiting {
		ids = append(ids, h.Order)
	}
	return ids
}

func (b *Books) requeue(ctx context.Context, v seckill.VoucherID, lost []seckill.Holder) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(requeueMost)
	for _, h := range lost {
		g.Go(func() error {
			_, err := b.redis.Requeue(ctx, orderOf(v, h))
			return err
		})
	}
	return g.Wait()
}

func orderOf(v seckill.VoucherID, h seckill.Holder) seckill.Order {
	return seckill.Order{ID: h.Order, User: h.User, Voucher: v}
}

// parse reads a ticket that a program of ours wrote.
func parse(t seckill.Ticket) (h seckill.Holder, ok bool) {
	user, err := seckill.ParseUserID(t.Buyer)
	if err != nil {
		return h, false
	}
	order, err := seckill.ParseOrderID(t.Order)
	return seckill.Holder{User: user, Order: order}, err == nil
}
