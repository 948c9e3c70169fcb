package consume

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/fulfil"
	"github.com/openseckill/seckill/worker/internal/pace"
)

// item is one delivery of a job.
type item struct {
	d    seckill.Delivery
	lone bool // handled alone, with every try counted
	gone bool // no longer in the stream: dropped here, it would be lost
}

// job brings one batch to its end. It begins with a slot of its lane.
type job struct {
	*lane
	all     []seckill.Delivery
	queue   []item
	size    int // how many are tried together
	slotted bool
	failing *run.Backoff
	late    int // waits for locks since intake ended
}

func newJob(l *lane, ds []seckill.Delivery) *job {
	j := &job{lane: l, all: ds, queue: make([]item, len(ds)), size: len(ds), slotted: true, failing: pace.NewBackoff()}
	for i, d := range ds {
		j.queue[i] = item{d: d, lone: d.Attempts > l.AttemptsMax}
	}
	j.mix()
	return j
}

// mix puts those that are handled alone in any order. A worker that dies of something else
// each time it comes back would otherwise die on the same order each time, and wear it out.
func (j *job) mix() {
	var lone []int
	for i, it := range j.queue {
		if it.lone {
			lone = append(lone, i)
		}
	}
	rand.Shuffle(len(lone), func(a, b int) {
		j.queue[lone[a]], j.queue[lone[b]] = j.queue[lone[b]], j.queue[lone[a]]
	})
}

// run tries until nothing is left, or what is left had better stay pending.
func (j *job) run(intake, work context.Context) {
	defer func() {
		j.hand.drop(j.all)
		if j.slotted {
			j.free()
		}
	}()
	for {
		t := j.round(intake, work)
		if len(j.queue) == 0 || work.Err() != nil || !j.pause(intake, work, t) {
			return
		}
	}
}

// A piece that fails as a whole makes the next ones so many times smaller; each one that
// does not lets them double again.
const shrink = 8

// tally is what came of a round.
type tally struct {
	moved  bool // something got somewhere
	failed bool // a piece failed as a whole
	down   bool // Redis or SQL did not answer afterwards
}

// round gives each delivery of the queue one try. Pieces get smaller where they fail though
// Redis and SQL answer, so that one bad order cannot hold up its neighbours. An outage ends
// the round, and so do two failures in a row, which look like one.
func (j *job) round(intake, work context.Context) (t tally) {
	inARow := 0
	for left := len(j.queue); left > 0 && inARow < 2 && !t.down && work.Err() == nil; {
		piece := j.next(left)
		left -= len(piece)
		if j.try(intake, work, piece) {
			t.moved, inARow = true, 0
			j.size = min(2*j.size, len(j.all))
			continue
		}
		t.failed = true
		inARow++
		if t.down = j.Ping(work, j.p) != nil; !t.down {
			j.size = max(1, len(piece)/shrink)
		}
	}
	return t
}

// next takes the head of the queue: a lone delivery, or as many others as may go together.
func (j *job) next(left int) []item {
	n := 1
	for !j.queue[0].lone && n < min(left, j.size) && !j.queue[n].lone {
		n++
	}
	piece := j.queue[:n]
	j.queue = j.queue[n:]
	return piece
}

// try handles a piece once. What has to be tried again goes to the end of the queue; false
// says that nothing of it got anywhere.
func (j *job) try(intake, work context.Context, piece []item) bool {
	if piece[0].lone {
		return j.tryAlone(intake, work, piece[0])
	}
	results, ok := j.handle(work, piece)
	if !ok {
		// One of them makes the handler panic. Alone, each is blamed for itself only.
		for _, it := range piece {
			it.lone = true
			j.queue = append(j.queue, it)
		}
		return true
	}
	return j.finish(intake, work, piece, results)
}

// tryAlone handles a delivery that may be the one which kills its workers. Each try is
// counted before it starts and forgotten once it came back: only those that never did are
// held against it, never an outage or a deploy.
func (j *job) tryAlone(intake, work context.Context, it item) bool {
	tried, err := j.countTry(work, it.d.Entry)
	if err != nil {
		j.handling.Note(err)
		j.queue = append(j.queue, it)
		return false
	}
	do, worn := j.handle, tried > j.AttemptsMax
	if worn {
		do = j.wornOut
	}
	results, ok := do(work, []item{it})
	if !ok {
		j.queue = append(j.queue, it) // a panic did not come back: the count stands
		return false
	}
	switch {
	case worn:
	case results[0].Outcome == seckill.Busy:
		// It never began, which tells nothing: where the order killed a worker, that one's lock
		// is what it waits for.
		j.setTries(intake, work, it.d.Entry, tried-1)
	default:
		j.forgetTries(intake, work, it.d.Entry)
	}
	moved := j.finish(intake, work, []item{it}, results)
	if worn && results[0].End != fulfil.Keep {
		j.forgetTries(intake, work, it.d.Entry)
	}
	return moved
}

// countTry counts a lone try, if there is anything to try it with.
func (j *job) countTry(work context.Context, entry string) (int64, error) {
	if err := j.Ping(work, j.p); err != nil {
		return 0, err
	}
	return j.Tries.CountTry(work, j.p, entry)
}

func (j *job) forgetTries(intake, work context.Context, entry string) {
	j.takeBack(intake, work, func(ctx context.Context) error { return j.Tries.ForgetTries(ctx, j.p, []string{entry}) })
}

func (j *job) setTries(intake, work context.Context, entry string, n int64) {
	j.takeBack(intake, work, func(ctx context.Context) error { return j.Tries.SetTries(ctx, j.p, entry, n) })
}

// takeBack has to get through even while the program stops: a try that came back must not
// count.
func (j *job) takeBack(intake, work context.Context, change func(context.Context) error) {
	const last = 2 * time.Second
	if j.persist(intake, work, change) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(work), last)
	defer cancel()
	j.ending.Note(change(ctx))
}

// handle runs the handler under a deadline; false says that it panicked.
func (j *job) handle(work context.Context, piece []item) (results []fulfil.Result, ok bool) {
	ctx, cancel := context.WithTimeout(work, j.tryMax())
	defer cancel()
	ds := make([]seckill.Delivery, len(piece))
	for i, it := range piece {
		ds[i] = it.d
	}
	j.Meter.Batch(len(ds))
	bug := j.guard("handle", func() { results = j.Handler.Handle(ctx, j.p, ds) })
	return results, bug == nil
}

// wornOut is handle for the one delivery that must not be handled any more.
func (j *job) wornOut(work context.Context, alone []item) (results []fulfil.Result, ok bool) {
	ctx, cancel := context.WithTimeout(work, j.tryMax())
	defer cancel()
	bug := j.guard("worn out", func() { results = []fulfil.Result{j.Handler.WornOut(ctx, alone[0].d)} })
	return results, bug == nil
}
