package run

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// jitter is by how much of itself an interval varies, so that nodes which started together
// do not stay in step.
const jitter = 0.1

// Every runs fn at once and then each interval, give or take a tenth, counted from the end
// of the run before. The context of fn is work: a run in hand is finished.
func Every(interval time.Duration, fn func(ctx context.Context)) Part {
	return func(intake, work context.Context) error {
		for intake.Err() == nil {
			fn(work)
			if Wait(intake, jittered(interval)) != nil {
				return nil // intake ended: that is how this part ends
			}
		}
		return nil
	}
}

func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 - jitter + 2*jitter*rand.Float64()))
}

// Wait returns nil after d, or earlier the cause of the end of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Backoff makes a loop that fails pause, longer each time. It is for one goroutine.
type Backoff struct{ next *backoff.ExponentialBackOff }

// NewBackoff returns a Backoff whose pauses begin around first and double up to most, each
// varied by half of itself.
func NewBackoff(first, most time.Duration) *Backoff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = first, most
	b.Multiplier, b.RandomizationFactor = 2, 0.5
	b.Reset()
	return &Backoff{next: b}
}

// Wait makes the next pause; it returns the cause of the end of ctx if that comes first.
func (b *Backoff) Wait(ctx context.Context) error { return Wait(ctx, b.next.NextBackOff()) }

// Reset makes the next pause a short one again: something worked.
func (b *Backoff) Reset() { b.next.Reset() }
