// Package gate stands before the sale: it answers what need not be asked of Redis, and
// refuses what Redis should not be asked. It owns the memory of vouchers that nobody can
// buy, the limit of each user and the bound of those who wait. It imports package seckill,
// and reaches Redis through small interfaces of its own.
package gate

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// sale decides a purchase, and tells who holds an order; see package redisstore.
type sale interface {
	Admit(ctx context.Context, o seckill.Order) (seckill.Admission, error)
	Winners(ctx context.Context, v seckill.VoucherID, most int) (map[seckill.UserID]seckill.OrderID, error)
}

// ids mints order ids; see package orderid.
type ids interface {
	Next(ctx context.Context, v seckill.VoucherID) (seckill.OrderID, error)
}

// Options bound what a gate lets through and keeps. The zero value of a number but
// RatePerUser means its default.
type Options struct {
	RatePerUser int // purchases a second of one user, and as many at once; 0: no limit
	InFlightMax int // purchases that may wait for Redis at a time, 4096
	WinnersMax  int // buyers to remember, of all vouchers together, 1,000,000
}

func (o Options) withDefaults() Options {
	if o.InFlightMax == 0 {
		o.InFlightMax = 4096
	}
	if o.WinnersMax == 0 {
		o.WinnersMax = 1_000_000
	}
	return o
}

// Gate is safe for concurrent use. Its memory works while Run does, and while Live says so.
type Gate struct {
	*memory
	sale     sale
	ids      ids
	rate     *limiter
	max      int64
	inFlight atomic.Int64
	now      func() time.Time
}

// New returns a gate before a sale. Its clock measures spans only: no answer depends on
// what time it shows.
func New(s sale, i ids, o Options, now func() time.Time) *Gate {
	o = o.withDefaults()
	return &Gate{
		memory: newMemory(s, o.WinnersMax, now),
		sale:   s, ids: i, rate: newLimiter(o.RatePerUser, now), max: int64(o.InFlightMax), now: now,
	}
}

// Admit asks for one unit for u under a new order id. Its answers are those of
// redisstore.Admit, and RateLimited for a user who asks too often. Overloaded comes at
// once, when as many wait for Redis as may.
func (g *Gate) Admit(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Admission, error) {
	const op = "gate.Admit"
	if !g.rate.allow(u) {
		return seckill.Admission{}, &seckill.Error{Op: op, Code: seckill.RateLimited}
	}
	if a, err := g.recall(u, v); err != nil {
		return a, err
	}
	defer g.inFlight.Add(-1)
	if g.inFlight.Add(1) > g.max {
		return seckill.Admission{}, &seckill.Error{Op: op, Code: seckill.Overloaded}
	}
	id, err := g.ids.Next(ctx, v)
	if err != nil {
		return seckill.Admission{}, &seckill.Error{Op: op, Code: seckill.Unavailable, Err: err}
	}
	asked := g.now()
	a, err := g.sale.Admit(ctx, seckill.Order{ID: id, User: u, Voucher: v})
	g.learn(u, v, asked, a, err)
	return a, err
}

// InFlight is how many purchases wait for Redis now, and how many may.
func (g *Gate) InFlight() (now, most int64) { return g.inFlight.Load(), g.max }
