// Package expire cancels the orders that nobody paid in time, by a sweep that any number of
// workers run side by side. It may import seckill, obs and pace, never a store.
package expire

import (
	"context"
	"log/slog"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

const (
	every    = time.Second
	batchMax = 500 // orders in one transaction
)

type ledger interface {
	Expire(ctx context.Context, limit int) ([]seckill.Order, error)
}

type announcer interface {
	Announce(ctx context.Context, ids []seckill.OrderID) error
}

// Expirer cancels orders.
type Expirer struct {
	ledger ledger
	news   announcer
	died   func()
	meter  *obs.Worker
	loop   pace.Loop
}

// New returns an Expirer of the orders of l. It announces to n whose status changed, and
// calls died, which must not wait, when units are to be given back.
func New(l ledger, n announcer, died func(), m *obs.Worker, log *slog.Logger) *Expirer {
	e := &Expirer{ledger: l, news: n, died: died, meter: m}
	e.loop = pace.Loop{Every: every, Trouble: pace.NewTrouble(log, m, "expire"), Sweep: e.sweep}
	return e
}

// Run sweeps about once a second until intake ends. It returns nil.
func (e *Expirer) Run(intake, work context.Context) error { return e.loop.Run(intake, work) }

// sweep cancels one batch; more says that there may be others. The cancellation is committed
// with its release due, so a worker that dies here leaves nothing undone for long.
func (e *Expirer) sweep(ctx context.Context) (more bool, err error) {
	orders, err := e.ledger.Expire(ctx, batchMax)
	if err != nil || len(orders) == 0 {
		return false, err
	}
	e.died()
	e.meter.Expired.Add(float64(len(orders)))
	ids := make([]seckill.OrderID, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	return len(orders) == batchMax, e.news.Announce(ctx, ids)
}
