package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// clockEvery is how often it is asked what time it is.
const clockEvery = time.Second

// clock tells the time by Redis' clock, which judges the windows of all sales, so that pages
// that count down to a sale agree with it whichever node they ask. Between two looks, and
// while Redis is away, it goes on by the monotonic part of the node's own.
type clock struct {
	own   func() time.Time
	born  time.Time
	ahead atomic.Int64 // ns by which Redis is ahead
	judge interface {
		Clock(ctx context.Context, v seckill.VoucherID) (time.Time, error)
	}
}

func (c *clock) now() time.Time { return c.steady().Add(time.Duration(c.ahead.Load())) }

// steady does not jump with the node's clock.
func (c *clock) steady() time.Time { return c.born.Add(c.own().Sub(c.born)) }

// look asks any node of Redis: those of a cluster may differ by what operators let them.
func (c *clock) look(ctx context.Context) {
	asked := c.steady()
	now, err := c.judge.Clock(ctx, 0)
	if err != nil {
		return // whoever sells notices
	}
	answered := c.steady()
	c.ahead.Store(int64(now.Sub(asked.Add(answered.Sub(asked) / 2))))
}
