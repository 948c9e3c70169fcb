package httpapi

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	admitMax = 2 * time.Second // all that a purchase may wait for
	tick     = 50 * time.Millisecond
)

// allowance gives each purchase its time. All of one tick share a deadline: a timer for each
// would cost more than the rest of an admission.
type allowance struct {
	current atomic.Pointer[turn]
}

// turn is the deadline of those who come within one tick.
type turn struct {
	context.Context
	over time.Time // when the next begins
}

// context ends admitMax from now, up to a tick later. It has the values of ctx and none of
// its ends: a purchase goes on when its client hangs up.
func (a *allowance) context(ctx context.Context) context.Context {
	now := time.Now()
	t := a.current.Load()
	if t == nil || !now.Before(t.over) {
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), admitMax+tick)
		context.AfterFunc(shared, cancel) // nobody ends it sooner
		t = &turn{shared, now.Add(tick)}
		a.current.Store(t) // two at once make two; each is good
	}
	return allowed{ctx, t}
}

// allowed has the values of one context and the deadline of another.
type allowed struct {
	context.Context
	until *turn
}

func (a allowed) Deadline() (time.Time, bool) { return a.until.Deadline() }
func (a allowed) Done() <-chan struct{}       { return a.until.Done() }
func (a allowed) Err() error                  { return a.until.Err() }
