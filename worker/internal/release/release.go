// Package release gives the units of dead orders back to the sale, by a sweep that any
// number of workers run side by side. It may import seckill, obs and pace, never a store.
package release

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

const (
	every   = time.Second
	pageMax = 500 // orders in one sweep
	abreast = 8   // orders given back at the same time
)

type ledger interface {
	ReleasesDue(ctx context.Context, limit int) ([]seckill.Order, error)
	ReleasesDone(ctx context.Context, ids []seckill.OrderID) error
}

// giver takes a dead order out of Redis; see books.Giver.
type giver interface {
	GiveBack(ctx context.Context, o seckill.Order) error
}

// Releaser gives units back.
type Releaser struct {
	ledger ledger
	giver  giver
	wake   chan struct{}
	loop   pace.Loop
}

// New returns a Releaser of the dead orders that l tells.
func New(l ledger, g giver, m *obs.Worker, log *slog.Logger) *Releaser {
	r := &Releaser{ledger: l, giver: g, wake: make(chan struct{}, 1)}
	r.loop = pace.Loop{Every: every, Wake: r.wake, Trouble: pace.NewTrouble(log, m, "release"), Sweep: r.sweep}
	return r
}

// Wake makes the next sweep come at once: orders have died. It does not wait.
func (r *Releaser) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run sweeps about once a second until intake ends. It returns nil.
func (r *Releaser) Run(intake, work context.Context) error { return r.loop.Run(intake, work) }

// sweep gives back one page of dead orders; full says that there may be more.
func (r *Releaser) sweep(ctx context.Context) (full bool, err error) {
	due, err := r.ledger.ReleasesDue(ctx, pageMax)
	if err != nil || len(due) == 0 {
		return false, err
	}
	done, fault := r.giveBackAll(ctx, due)
	if len(done) > 0 {
		fault = errors.Join(fault, r.ledger.ReleasesDone(ctx, done))
	}
	return len(due) == pageMax, fault
}

// giveBackAll goes on past an order that fails by itself, and stops where nothing answers.
// Several go abreast: the orders of a sale's first second expire in the same second.
func (r *Releaser) giveBackAll(ctx context.Context, due []seckill.Order) (done []seckill.OrderID, fault error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(abreast)
	var mu sync.Mutex
	for _, o := range due {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			err := r.giver.GiveBack(ctx, o)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done = append(done, o.ID)
				return nil
			}
			fault = cmp.Or(fault, err)
			if errors.Is(err, seckill.Unavailable) {
				return err // ends the others
			}
			return nil
		})
	}
	_ = g.Wait() // fault says what went wrong
	return done, fault
}
