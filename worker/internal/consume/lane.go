package consume

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

// Batches that may wait beside the slots, for each slot; see job.pause.
const parkedPerSlot = 4

// lane consumes one stream. Nothing is read without a slot, so that an outage, which holds
// the slots, stops the reading by itself.
type lane struct {
	*Consumer
	p       int
	slots   chan struct{}
	parking chan struct{}
	hand    hand
	batches sync.WaitGroup

	reading, claiming, handling, ending *pace.Trouble
}

func newLane(c *Consumer, p int) *lane {
	log := c.Log.With("stream", p)
	return &lane{
		Consumer: c,
		p:        p,
		slots:    make(chan struct{}, c.Slots),
		parking:  make(chan struct{}, c.Slots*parkedPerSlot),
		reading:  pace.NewTrouble(log, c.Meter, "read"),
		claiming: pace.NewTrouble(log, c.Meter, "claim"),
		handling: pace.NewTrouble(log, c.Meter, "store"),
		ending:   pace.NewTrouble(log, c.Meter, "settle"),
	}
}

func (l *lane) run(intake, work context.Context) {
	l.forever(intake, "drain", func() { l.drain(intake, work) })
	var loops sync.WaitGroup
	loops.Go(func() { l.forever(intake, "read", func() { l.read(intake, work) }) })
	loops.Go(func() { l.forever(intake, "claim", func() { l.claim(intake, work) }) })
	loops.Wait()
	l.batches.Wait()
	if work.Err() != nil {
		return
	}
	if err := l.Stream.DropConsumer(work, l.p, l.Name); err != nil {
		l.Log.Warn("the consumer's name stays in its group", "consumer", l.Name, "err", err)
	}
}

// forever runs loop until it returns; after a panic, which is a bug, once more.
func (l *lane) forever(intake context.Context, what string, loop func()) {
	failing := pace.NewBackoff()
	for l.guard(what, loop) != nil && failing.Wait(intake) == nil {
	}
}

// guard turns a panic into an error, so that a bug in one batch leaves the others alone.
func (l *lane) guard(what string, fn func()) error {
	err := run.Safely(func() error { fn(); return nil })
	if err != nil {
		l.Log.Error("a bug", "what", what, "err", err)
	}
	return err
}

// take waits for a slot; false: ctx ended first.
func (l *lane) take(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case l.slots <- struct{}{}:
		l.Meter.SlotsUsed.Inc()
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *lane) free() {
	<-l.slots
	l.Meter.SlotsUsed.Dec()
}

// fetch takes a slot, calls get, and starts a batch with what it got, which then owns the
// slot. Without any the slot is free again.
func (l *lane) fetch(intake, work context.Context, get func() ([]seckill.Delivery, error)) error {
	if !l.take(intake) {
		return nil
	}
	known := l.Handler.Epochs() // before the stream is read: see fulfil.Epochs
	var ds []seckill.Delivery
	var err error
	if bug := l.guard("fetch", func() { ds, err = get() }); bug != nil {
		err = bug
	}
	if ds = l.hand.add(ds); len(ds) == 0 {
		l.free()
		return err
	}
	known.Stamp(ds)
	l.batches.Go(func() {
		_ = l.guard("batch", func() { newJob(l, ds).run(intake, work) })
	})
	return err
}

// read takes new entries until intake ends. The read itself lives as long as work does: a
// reply that arrives while intake ends must not be thrown away. One that got lost leaves
// entries under this consumer's name, which nobody else takes for a long time: they are
// taken before any new ones.
func (l *lane) read(intake, work context.Context) {
	failing := pace.NewBackoff()
	for intake.Err() == nil {
		err := l.fetch(intake, work, func() ([]seckill.Delivery, error) {
			return l.Stream.Read(work, l.p, l.Name, l.BatchMax, l.Block)
		})
		l.reading.Note(err)
		if err == nil {
			failing.Reset()
			continue
		}
		_ = failing.Wait(intake)
		l.drain(intake, work)
	}
}

// drain takes what this consumer's name was given and does not have in hand, in an earlier
// life or by a reply that got lost, to the last page.
func (l *lane) drain(intake, work context.Context) {
	failing := pace.NewBackoff()
	for after := "0"; after != "" && intake.Err() == nil; {
		err := l.fetch(intake, work, func() ([]seckill.Delivery, error) {
			ds, last, lost, err := l.Stream.ReadOwn(work, l.p, l.Name, after, l.BatchMax)
			if err == nil {
				after = last
				l.reportLost(work, lost)
			}
			return ds, err
		})
		l.reading.Note(err)
		if err != nil {
			_ = failing.Wait(intake)
		}
	}
}

// claim takes over what other consumers have left pending for too long, page by page, at
// its own pace: each page waits its turn for a slot, and so do the reads in between.
func (l *lane) claim(intake, work context.Context) {
	failing := pace.NewBackoff()
	for ended := run.Wait(intake, pace.Between(0, l.ClaimIdle/10)); ended == nil; {
		err := errors.Join(l.breathe(work), l.rescue(work), l.claimAll(intake, work))
		l.claiming.Note(err)
		if err == nil {
			failing.Reset()
			ended = run.Wait(intake, pace.Around(l.ClaimIdle/2))
		} else {
			ended = failing.Wait(intake)
		}
	}
}

// breathe ends this consumer's silence: a look at its own entries does, past the last there
// can be. Before Redis 7.2 reads that find nothing do not, and a worker without orders would
// be taken for dead.
func (l *lane) breathe(work context.Context) error {
	const last = "18446744073709551615-18446744073709551614" // one more means new entries
	_, _, _, err := l.Stream.ReadOwn(work, l.p, l.Name, last, 1)
	return err
}

// rescue lets claimAll find what an operator's hand made nobody's.
func (l *lane) rescue(work context.Context) error {
	n, err := l.Stream.Rescue(work, l.p, l.Name)
	if n > 0 {
		l.Log.Warn("orders waited that nobody would have read: the group was moved, or they were acknowledged by hand", "stream", l.p, "count", n)
	}
	return err
}

func (l *lane) claimAll(intake, work context.Context) error {
	const first = "0-0" // also the last: Redis returns it at the end
	for cursor := first; ; {
		err := l.fetch(intake, work, func() ([]seckill.Delivery, error) {
			ds, next, lost, err := l.Stream.Claim(work, l.p, l.Name, l.ClaimIdle, cursor, l.BatchMax)
			if err == nil {
				cursor = next
				l.Meter.Reclaimed.Add(float64(len(ds)))
				l.reportLost(work, lost)
			}
			return ds, err
		})
		if err != nil || cursor == first || intake.Err() != nil {
			return err
		}
	}
}

// reportLost raises an alert for pending entries that are gone from the stream. Their
// tickets are queued again by the sync; what is left of them here is acknowledged.
func (l *lane) reportLost(ctx context.Context, entries []string) {
	if len(entries) == 0 {
		return
	}
	l.Meter.Lost.Add(float64(len(entries)))
	l.Meter.Alert(obs.AlertLost)
	l.Log.Error("pending entries are gone from the stream", "stream", l.p, "count", len(entries), "first", entries[0])
	if _, err := l.Ends.Settle(ctx, l.p, entries); err != nil {
		l.ending.Note(err)
	}
}

// tryMax is the longest that one try of a batch may take: well within the time after which
// another consumer may claim it.
func (l *lane) tryMax() time.Duration { return l.ClaimIdle / 3 }
