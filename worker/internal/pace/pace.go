// Package pace says how long the loops of a worker wait, and how seldom they speak of it.
// It imports run and nothing else of ours.
package pace

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/run"
)

// NewBackoff returns pauses from about 50 ms to at most 3 s: short enough that a small fault
// goes unnoticed, long enough that an outage costs almost nothing.
func NewBackoff() *run.Backoff {
	return run.NewBackoff(50*time.Millisecond, 2*time.Second) // and half as much again by jitter
}

// Between returns a random time from low to high, so that workers that started together
// do not stay in step.
func Between(low, high time.Duration) time.Duration { return low + rand.N(high-low+1) }

// Around returns d give or take a fifth.
func Around(d time.Duration) time.Duration { return Between(d-d/5, d+d/5) }

// Loop sweeps again and again. The sweeps of several workers may meet: what one does, the
// others do not find.
type Loop struct {
	Every   time.Duration   // about, from the end of a sweep that found no more
	Gap     time.Duration   // that it rests even when woken, so that what comes in a burst is swept together
	Wake    <-chan struct{} // cuts the rest short; nil: nothing does
	Trouble *Trouble        // of the sweeps
	Sweep   func(ctx context.Context) (more bool, err error)
}

// sweepMax bounds one sweep: a store that is silent is asked anew after it.
const sweepMax = 10 * time.Second

// Run sweeps until intake ends, which cuts the sweep in hand short: any worker finishes it
// later, and a store that is silent must not hold up the stop. It returns nil.
func (l Loop) Run(intake, _ context.Context) error {
	failing := NewBackoff()
	for err := run.Wait(intake, Between(0, l.Every)); err == nil; {
		more, fault := l.sweep(intake)
		if intake.Err() != nil {
			return nil
		}
		l.Trouble.Note(fault)
		switch {
		case fault != nil:
			err = failing.Wait(intake)
		case more:
			err = intake.Err()
		default:
			failing.Reset()
			err = l.rest(intake)
		}
	}
	return nil
}

func (l Loop) sweep(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepMax)
	defer cancel()
	return l.Sweep(ctx)
}

func (l Loop) rest(intake context.Context) error {
	if err := run.Wait(intake, l.Gap); err != nil {
		return err
	}
	timer := time.NewTimer(Around(l.Every) - l.Gap)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.Wake:
	case <-intake.Done():
	}
	return context.Cause(intake)
}

type meter interface {
	Failing(what string) prometheus.Gauge
}

// Trouble logs when something begins to fail and when it works again, never each try in
// between: an outage of an hour is two lines, and a metric for as long as it lasts. It is
// safe for concurrent use.
type Trouble struct {
	log     *slog.Logger
	what    string
	bad     atomic.Bool
	failing prometheus.Gauge
}

// NewTrouble watches what, a verb such as "read".
func NewTrouble(log *slog.Logger, m meter, what string) *Trouble {
	return &Trouble{log: log, what: what, failing: m.Failing(what)}
}

// Note takes the result of one more try.
func (t *Trouble) Note(err error) {
	switch {
	case err != nil && t.bad.CompareAndSwap(false, true):
		t.failing.Inc()
		t.log.Warn("it fails, and is tried until it works", "what", t.what, "err", err)
	case err == nil && t.bad.CompareAndSwap(true, false):
		t.failing.Dec()
		t.log.Info("it works again", "what", t.what)
	}
}
