// Package consume is one consumer of the order stream: it takes slots, reads, hands
// batches to fulfil, settles, buries, and claims what other consumers left behind. It may
// import seckill, obs, run, fulfil and pace, never a store.
package consume

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/fulfil"
)

type stream interface {
	source
	group
}

type source interface {
	Read(ctx context.Context, p int, consumer string, count int, block time.Duration) ([]seckill.Delivery, error)
	ReadOwn(ctx context.Context, p int, consumer, after string, count int) (ds []seckill.Delivery, last string, lost []string, err error)
	Claim(ctx context.Context, p int, consumer string, idle time.Duration, cursor string, count int) (ds []seckill.Delivery, next string, lost []string, err error)
}

type group interface {
	DropConsumer(ctx context.Context, p int, consumer string) error
	Rescue(ctx context.Context, p int, consumer string) (int, error)
}

type ends interface {
	Settle(ctx context.Context, p int, entries []string) (int, error)
	Bury(ctx context.Context, d seckill.Delivery, reason seckill.Reason) (bool, error)
	Announce(ctx context.Context, ids []seckill.OrderID) error
}

type tries interface {
	CountTry(ctx context.Context, p int, entry string) (int64, error)
	SetTries(ctx context.Context, p int, entry string, n int64) error
	ForgetTries(ctx context.Context, p int, entries []string) error
}

type handler interface {
	Epochs() fulfil.Epochs
	Handle(ctx context.Context, p int, ds []seckill.Delivery) []fulfil.Result
	WornOut(ctx context.Context, d seckill.Delivery) fulfil.Result
}

// Options are the limits of a Consumer. The zero of Slots and Block means the default.
type Options struct {
	Name        string        // the consumer's name in the group, one for each life of a process
	Partitions  int           // streams to read, at least 1
	BatchMax    int           // deliveries in one transaction
	ClaimIdle   time.Duration // what has been pending for so long is taken over from its consumer
	AttemptsMax int64         // deliveries after which an order is handled alone; lone tries after which it is worn out
	Slots       int           // batches in hand at a time, for each stream; default 2
	Block       time.Duration // how long one read waits for new entries; default 1s
}

// Deps is what a Consumer works with; all of it is needed.
type Deps struct {
	Stream  stream
	Ends    ends
	Tries   tries
	Handler handler
	Ping    func(ctx context.Context, p int) error // asks the Redis of partition p and SQL whether they answer
	Meter   *obs.Worker
	Log     *slog.Logger
}

// Consumer reads every stream of the sale under one name.
type Consumer struct {
	Options
	Deps
}

// New returns a Consumer that has not started.
func New(o Options, d Deps) *Consumer {
	if o.Slots == 0 {
		o.Slots = 2 // while one batch commits, the next is read
	}
	if o.Block == 0 {
		o.Block = time.Second
	}
	d.Meter.SlotsMax.Set(float64(o.Slots * o.Partitions))
	return &Consumer{Options: o, Deps: d}
}

// Run reads until intake ends, then waits for the batches in hand, which only the end of
// work cuts short. What is not settled then stays pending for another consumer. It
// returns nil: every fault of a dependency is waited out.
func (c *Consumer) Run(intake, work context.Context) error {
	var lanes sync.WaitGroup
	for p := range c.Partitions {
		lanes.Go(func() { newLane(c, p).run(intake, work) })
	}
	lanes.Wait()
	return nil
}
