package consume

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/trace"
	"github.com/openseckill/seckill/worker/internal/fulfil"
	"github.com/openseckill/seckill/worker/internal/pace"
)

// finish does what the results of a piece ask for: settle together, tell whoever waits,
// bury one by one, queue the kept ones again. False: all of it is Transient.
func (j *job) finish(intake, work context.Context, piece []item, results []fulfil.Result) (moved bool) {
	var settled []string
	var told []seckill.OrderID
	var buried []fulfil.Result
	for i, r := range results {
		j.Meter.Outcome(r.Outcome)
		moved = moved || r.Outcome != seckill.Transient
		switch r.End {
		case fulfil.Keep:
			it := piece[i]
			j.Meter.Retried(seckill.CodeOf(r.Err))
			j.queue = append(j.queue, item{d: r.Delivery, lone: it.lone, gone: it.gone || r.Gone})
			continue
		case fulfil.Settle:
			if !r.Gone {
				settled = append(settled, r.Delivery.Entry)
			}
		case fulfil.Bury:
			buried = append(buried, r)
		}
		if id := r.Delivery.Order.ID; id > 0 {
			told = append(told, id)
		}
	}
	j.note(results)
	j.settle(intake, work, settled)
	j.announce(work, told)
	for _, r := range buried {
		j.bury(intake, work, r)
	}
	return moved
}

// note logs the first cause of a failure, when it is the first in a row.
func (j *job) note(results []fulfil.Result) {
	i := slices.IndexFunc(results, func(r fulfil.Result) bool { return r.Err != nil })
	if i >= 0 {
		j.handling.Note(results[i].Err)
	} else {
		j.handling.Note(nil)
	}
}

// settle acknowledges what is committed. If it never gets through, nothing is undone: the
// next delivery finds the rows and settles.
func (j *job) settle(intake, work context.Context, entries []string) {
	if len(entries) == 0 {
		return
	}
	began := time.Now()
	j.persist(intake, work, func(ctx context.Context) error {
		_, err := j.Ends.Settle(ctx, j.p, entries)
		return err
	})
	j.Meter.Stage(obs.StageSettle, time.Since(began))
}

// announce is a courtesy to those who wait; they also look for themselves.
func (j *job) announce(work context.Context, ids []seckill.OrderID) {
	if len(ids) > 0 {
		j.ending.Note(j.Ends.Announce(work, ids))
	}
}

func (j *job) bury(intake, work context.Context, r fulfil.Result) {
	j.persist(intake, work, func(ctx context.Context) error {
		buried, err := j.Ends.Bury(ctx, r.Delivery, r.Reason)
		if buried {
			j.Meter.Buried(r.Reason)
			o := r.Delivery.Order
			ctx, _ := trace.Join(ctx, r.Delivery.Trace)
			j.Log.ErrorContext(ctx, "buried", "entry", r.Delivery.Entry, "reason", r.Reason, "order", o.ID, "user", o.User, "voucher", o.Voucher)
		}
		return err
	})
}

// persist calls fn until it succeeds, and reports that it did. It waits only for a Redis
// that does not answer, and not once intake has ended: what is left stays pending.
func (j *job) persist(intake, work context.Context, fn func(context.Context) error) bool {
	failing := pace.NewBackoff()
	for {
		err := fn(work)
		j.ending.Note(err)
		if err == nil {
			return true
		}
		if !errors.Is(err, seckill.Unavailable) || failing.Wait(intake) != nil {
			return false
		}
	}
}

// pause waits before the next round; false says that there shall be none, and what is left
// stays pending. While nothing answers, the job keeps its slot, and thereby stops the
// reading. Where the trouble lies with these orders alone, it waits beside the slots.
func (j *job) pause(intake, work context.Context, t tally) bool {
	if t.moved {
		j.failing.Reset()
	}
	if t.down {
		return j.wait(intake, work, t)
	}
	select {
	case j.parking <- struct{}{}:
		defer func() { <-j.parking }()
		j.free()
		j.slotted = false
		j.slotted = j.wait(intake, work, t) && j.take(work)
		return j.slotted
	default:
		return j.keepGone() && j.wait(intake, work, t)
	}
}

// How often orders whose user is locked are tried once intake has ended, some five seconds
// in all: a lock of a batch is given back in that time, and whoever holds one for longer
// must not hold up the stop.
const lateMax = 40

// wait is short for orders whose user is locked: the lock is held for a batch, seldom more.
// After a failure it is longer each time. Once intake has ended only those wait for long
// that nobody else could take up.
func (j *job) wait(intake, work context.Context, t tally) bool {
	if t.failed {
		return j.failing.Wait(intake) == nil || (j.keepGone() && j.failing.Wait(work) == nil)
	}
	if intake.Err() != nil {
		j.late++
	}
	return (j.late <= lateMax || j.keepGone()) &&
		run.Wait(work, pace.Between(50*time.Millisecond, 200*time.Millisecond)) == nil
}

// keepGone leaves to other consumers what they can still find in the stream. True: there
// is something that they cannot.
func (j *job) keepGone() bool {
	j.queue = slices.DeleteFunc(j.queue, func(it item) bool { return !it.gone })
	return len(j.queue) > 0
}
