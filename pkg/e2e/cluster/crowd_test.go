package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	pace    = 30 * time.Millisecond // between two buyers in a line
	again   = 50 * time.Millisecond // before a buyer asks once more
	abreast = 2                     // buyers of a voucher at a time
	scarce  = 3                     // units of a voucher that sells out
	plenty  = 1_000_000             // units of one that never does
)

// promise is an order that a buyer was told of, and what it became by what they were told.
type promise struct {
	user                 int64
	voucher, id, receipt string
	became               seckill.Status // "": they did not ask for more
}

// acceptance is when somebody was promised an order of a partition, and how long they had
// asked for it.
type acceptance struct {
	at        time.Time
	partition int
	waited    time.Duration
}

// crowd is everybody who buys, and what they were told.
type crowd struct {
	caller      *caller.Caller
	partitionOf func(voucher string) int
	users       atomic.Int64 // who came so far

	mu       sync.Mutex
	keeps    bool // nothing may be forgotten now
	promises map[string]promise
	accepted []acceptance
	told     map[string]int // how often each answer was given
	odd      []string       // answers that may not be given
	slowest  time.Duration  // answer
}

// come lets buyers come until ctx ends, some at a time for each voucher: where one cannot be
// sold, only those who want it wait.
func (c *crowd) come(ctx context.Context, vouchers []voucher, seed uint64) {
	var all sync.WaitGroup
	for i := range abreast * len(vouchers) {
		l := &line{crowd: c, voucher: vouchers[i/abreast], r: rand.New(rand.NewPCG(seed, uint64(i)))}
		all.Go(func() {
			for ctx.Err() == nil {
				l.next(ctx)
				pause(ctx, pace)
			}
		})
	}
	all.Wait()
}

// line is some of those who want one voucher, one after the other.
type line struct {
	*crowd
	voucher voucher
	r       *rand.Rand
	kept    []promise // that can still be cancelled
}

// next is one buyer: some click again, some pay, some give back, and most keep the order.
// Where nothing is left, somebody who came earlier gives their order back.
func (l *line) next(ctx context.Context) {
	user := l.users.Add(1)
	p, ok := l.buy(ctx, user)
	if !ok {
		if n := len(l.kept); n > 0 && ctx.Err() == nil {
			i := l.r.IntN(n)
			l.change(ctx, l.kept[i], "cancel", seckill.Cancelled)
			l.kept = slices.Delete(l.kept, i, i+1)
		}
		return
	}
	switch habit := l.r.IntN(10); {
	case habit < 2:
		if q, ok := l.buy(ctx, user); ok && q.id != p.id && l.keeping() {
			l.strange("user %d was promised %s, and then %s", user, p.id, q.id)
		}
	case habit < 4 && l.voucher.units == plenty:
		l.change(ctx, p, "pay", seckill.Paid)
	case habit < 7:
		l.change(ctx, p, "cancel", seckill.Cancelled)
	default:
		l.kept = append(l.kept, p)
	}
}

// buy insists until there is an answer. False: there is no unit, or the time is over.
func (l *line) buy(ctx context.Context, user int64) (p promise, ok bool) {
	q := caller.Question{Method: http.MethodPost, Path: "/vouchers/" + l.voucher.id + "/orders", User: user}
	for began := time.Now(); ctx.Err() == nil; pause(ctx, again) {
		a, answered := l.ask(ctx, q)
		switch {
		case !answered || a.Later():
		case a.HTTP == http.StatusAccepted || a.HTTP == http.StatusOK:
			return l.promised(user, a, began), true
		case a.Code == string(seckill.SoldOut) && l.voucher.units != plenty:
			return p, false
		default:
			l.strange("user %d wants voucher %s: %d %s", user, l.voucher.id, a.HTTP, a.Body)
			return p, false
		}
	}
	return p, false
}

// change pays or cancels an order as soon as it is stored, until there is an answer.
func (l *line) change(ctx context.Context, p promise, verb string, to seckill.Status) {
	look := caller.Question{Method: http.MethodGet, Path: "/orders/" + p.id + "?wait=1s", User: p.user}
	do := caller.Question{Method: http.MethodPost, Path: "/orders/" + p.id + "/" + verb, User: p.user}
	if to == seckill.Paid {
		do.Role, do.Body = "service", fmt.Sprintf(`{"reference":"ref-%s","amount":100}`, p.id)
	}
	for q := look; ctx.Err() == nil; pause(ctx, again) {
		a, answered := l.ask(ctx, q)
		switch {
		case !answered || a.Later() || a.Code == "QUEUED":
		case a.HTTP == http.StatusOK && a.Is(seckill.Created) && q == look:
			q = do
		case a.HTTP == http.StatusOK && a.Is(to):
			p.became = to
			l.keep(p)
			return
		case a.HTTP == http.StatusOK && a.Is(seckill.Queued):
		default:
			if l.keeping() {
				l.strange("user %d would %s %s: %d %s", p.user, verb, p.id, a.HTTP, a.Body)
			}
			return
		}
	}
}

// ask makes a request whose answer is awaited also when the time is over.
func (l *line) ask(ctx context.Context, q caller.Question) (a caller.Answer, answered bool) {
	began := time.Now()
	a, err := l.caller.Ask(context.WithoutCancel(ctx), q)
	took := time.Since(began)
	if err != nil {
		l.strange("no answer to %s %s: %v", q.Method, q.Path, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	what := fmt.Sprint(a.HTTP, " ", a.Code)
	if a.Later() || a.HTTP == http.StatusAccepted {
		l.told[what]++
	}
	return a, err == nil
}

func (l *line) promised(user int64, a caller.Answer, began time.Time) promise {
	p := promise{user: user, voucher: l.voucher.id, id: a.OrderID, receipt: a.Receipt}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.HTTP == http.StatusAccepted {
		l.promises[p.id] = p
		l.accepted = append(l.accepted, acceptance{time.Now(), l.partitionOf(p.voucher), time.Since(began)})
	}
	return p
}

func (c *crowd) keep(p promise) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.promises[p.id]
	p.receipt = max(p.receipt, known.receipt) // a repeated answer has none
	c.promises[p.id] = p
}

func (c *crowd) keeping() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.keeps }

func (c *crowd) strange(format string, a ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.odd = append(c.odd, fmt.Sprintf(format, a...))
}

// pause returns after d, or earlier when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
