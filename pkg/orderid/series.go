package orderid

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/openseckill/seckill/pkg/seckill"
)

// A counter that was lost or set back goes on so many numbers above all that is known, and up
// to as many again. That is more than what can be given out and not be known: the blocks of
// all processes, and the orders that wait in the stream. Where partitions share the day's
// sequences, each can lose its counter 32 times a day.
const (
	lostGap   = 1 << 24
	lostShare = 1 << 26 // of all partitions together
)

// series is the sequences of one partition: number n of its counter is the sequence
// n*partitions + partition, so no two partitions ever meet.
type series struct {
	counter    counter
	ledger     ledger
	size       int64 // of a block
	partition  int
	partitions int

	current atomic.Pointer[block]

	mu     sync.Mutex // held for moments only, never over a call
	refill *refill    // the one under way, nil if there is none
}

// block is a run of a series, of one day, that this process alone may use.
type block struct {
	day        int64 // since the epoch
	generation uint64
	used       atomic.Int64 // the last sequence given out; past last once the block is dry
	last       int64
	step       int64
}

// take returns the next sequence, unless the block is dry.
func (b *block) take() (sequence int64, ok bool) {
	sequence = b.used.Add(b.step)
	return sequence, sequence <= b.last
}

// refill is one attempt to get a block, which all who need one share.
type refill struct {
	done      chan struct{}
	err       error
	abandoned bool // the caller that made the attempt gave up: that says nothing to the others
}

// replace sees to it that the spent block is replaced, by this call or by another.
func (s *series) replace(ctx context.Context, spent *block, day int64) error {
	r, mine := s.join(spent)
	switch {
	case r == nil:
		return nil
	case mine:
		s.attempt(ctx, r, day)
		return r.err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return fault(seckill.Unavailable, context.Cause(ctx))
	}
	if r.abandoned {
		return nil // the next round makes its own attempt
	}
	return r.err
}

// join returns the attempt under way, or a new one that the caller must make; nil where
// the spent block is replaced already.
func (s *series) join(spent *block) (r *refill, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Load() != spent {
		return nil, false
	}
	if s.refill == nil {
		s.refill, mine = &refill{done: make(chan struct{})}, true
	}
	return s.refill, mine
}

// attempt gets a block and tells all who wait, also if the counter panics.
func (s *series) attempt(ctx context.Context, r *refill, day int64) {
	r.abandoned = true
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refill = nil
		close(r.done)
	}()
	b, err := s.take(ctx, day)
	if err == nil {
		s.current.Store(b)
	}
	r.err, r.abandoned = err, err != nil && ctx.Err() != nil
}

// take reserves a block of the day.
func (s *series) take(ctx context.Context, day int64) (*block, error) {
	// Read before the call: if the counter changes meanwhile, the block is dropped.
	generation := s.counter.Generation()
	name := Time(compose(day*daySeconds, 0)).Format("20060102")
	last, err := s.counter.TakeSequence(ctx, s.partition, name, s.size, -1)
	if errors.Is(err, seckill.NotReady) {
		last, err = s.takeAbove(ctx, day, name, last)
	}
	if err != nil {
		return nil, fault(seckill.CodeOf(err), err)
	}
	step, rest := int64(s.partitions), int64(s.partition)
	most := (sequenceMax - rest) / step
	first := last - s.size + 1
	if first < 1 || last > most {
		return nil, fault(seckill.Internal, fmt.Errorf("the counter of %s in partition %d gave %d to %d: a day's numbers go from 1 to %d", name, s.partition, first, last, most))
	}
	b := &block{day: day, generation: generation, last: last*step + rest, step: step}
	b.used.Store((first-1)*step + rest)
	return b, nil
}

// takeAbove goes on far above all that is known: the day's first block, or that of a counter
// that was lost or set back. How far is left to chance, too: where that happens twice in one
// second, SQL may know no more the second time.
func (s *series) takeAbove(ctx context.Context, day int64, name string, known int64) (int64, error) {
	from, to := bounds(day)
	highest, err := s.ledger.MaxSequence(ctx, from, to, s.partition, s.partitions)
	if err != nil {
		return 0, err
	}
	partitions := int64(s.partitions)
	gap := min(lostGap, lostShare/partitions)
	return s.counter.TakeSequence(ctx, s.partition, name, s.size, max(known, highest/partitions)+gap+rand.Int64N(gap))
}
