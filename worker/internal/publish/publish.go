// Package publish tells other systems what happened to orders: it moves what the database's
// outbox holds to a stream in Redis, at least once and in the order of each order's changes.
// Any number of workers run it; one at a time publishes. It may import seckill, obs, run and
// pace, never a store.
package publish

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

const (
	every     = 500 * time.Millisecond // to find what other processes changed
	gap       = 20 * time.Millisecond  // to gather what this one changes
	rowsMax   = 32                     // transactions published at a time, each of up to a batch of orders
	tendEvery = 2 * time.Second
	keep      = 7 * 24 * time.Hour // that published rows stay, for whoever looks into the past
	forgetMax = 1000               // rows deleted at a time
)

type outbox interface {
	Publish(ctx context.Context, limit int, fn func(ctx context.Context, events []seckill.Event) error) (int, error)
	Noted() <-chan struct{}
	Backlog(ctx context.Context) (seckill.Backlog, error)
	ForgetPublished(ctx context.Context, age time.Duration, limit int) (int64, error)
}

type stream interface {
	PublishEvents(ctx context.Context, events []seckill.Event) error
	TrimEvents(ctx context.Context) (left int64, err error)
}

// Publisher publishes.
type Publisher struct {
	outbox  outbox
	stream  stream
	meter   *obs.Worker
	loop    pace.Loop
	tending *pace.Trouble
}

// New returns a Publisher of what o holds.
func New(o outbox, s stream, m *obs.Worker, log *slog.Logger) *Publisher {
	p := &Publisher{outbox: o, stream: s, meter: m, tending: pace.NewTrouble(log, m, "tend_events")}
	p.loop = pace.Loop{Every: every, Gap: gap, Wake: o.Noted(), Trouble: pace.NewTrouble(log, m, "publish"), Sweep: p.sweep}
	return p
}

// Run publishes until intake ends. It returns nil.
func (p *Publisher) Run(intake, work context.Context) error {
	return run.All(intake, work, p.loop.Run, run.Every(tendEvery, p.tend))
}

// sweep publishes one page. Where Redis does not answer the page stays in the outbox.
func (p *Publisher) sweep(ctx context.Context) (more bool, err error) {
	n, err := p.outbox.Publish(ctx, rowsMax, func(ctx context.Context, events []seckill.Event) error {
		err := p.stream.PublishEvents(ctx, events)
		if err == nil {
			p.meter.Published.Add(float64(len(events)))
		}
		return err
	})
	return n == rowsMax, err
}

// tend drops what nobody needs any more, and measures the rest.
func (p *Publisher) tend(ctx context.Context) {
	kept, trimming := p.stream.TrimEvents(ctx)
	_, forgetting := p.outbox.ForgetPublished(ctx, keep, forgetMax)
	backlog, looking := p.outbox.Backlog(ctx)
	err := errors.Join(trimming, forgetting, looking)
	p.tending.Note(err)
	if err == nil {
		p.meter.Outbox(backlog, kept)
	}
}
