// Package pace says how long the loops of a worker wait, and how seldom they speak of it.
// It imports run and nothing else of ours.
package pace

import (
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
