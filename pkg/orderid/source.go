package orderid

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	op = "orderid.Next"

	blockDefault = 1000

	// lostGap is how far above all that is known a counter goes on that was lost or set back. It
	// is more than all that can be given out and not be known: the blocks of all processes, and
	// the orders that wait in the stream.
	lostGap = 1 << 24
)

// counter gives out the sequences of a day, each once.
type counter interface {
	// TakeSequence reserves last-n+1..last of the day, "20060102". A day without a counter, or
	// with one that may have been set back, is NotReady if floor < 0, with the last that it
	// knows; else its counter goes on from floor.
	TakeSequence(ctx context.Context, day string, n, floor int64) (last int64, err error)
	// Generation changes when the counter may have forgotten what it gave out.
	Generation() uint64
}

// ledger knows the ids that were stored.
type ledger interface {
	// MaxSequence returns the largest sequence of the ids from <= id < to, 0 if there is none.
	MaxSequence(ctx context.Context, from, to seckill.OrderID) (int64, error)
}

// Options of a Source.
type Options struct {
	Block int64            // sequences taken from the counter at a time; 0: 1000
	Now   func() time.Time // the clock; nil: time.Now
}

// Source makes ids. Any number of goroutines may use it, and any number of processes may
// make ids from the same counter.
type Source struct {
	counter counter
	ledger  ledger
	size    int64
	now     func() time.Time

	current atomic.Pointer[block]

	mu     sync.Mutex // held for moments only, never over a call
	refill *refill    // the one under way, nil if there is none
}

// New returns a Source. It asks the counter only when ids are asked of it.
func New(c counter, l ledger, o Options) *Source {
	if o.Block <= 0 {
		o.Block = blockDefault
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Source{counter: c, ledger: l, size: o.Block, now: o.Now}
}

// Next returns an id that no other call returned, on any node. It asks the counter once
// for each block of ids. The code of an error is the counter's or the ledger's, Unavailable
// where ctx ended first, Internal where an id would not fit its bits.
func (s *Source) Next(ctx context.Context) (seckill.OrderID, error) {
	for {
		seconds := s.now().Unix() - epoch
		if seconds < 0 || seconds > secondsMax {
			return 0, fault(seckill.Internal, fmt.Errorf("the clock says %s: ids have room for 2025 to 2093", time.Unix(epoch+seconds, 0).UTC().Format(time.RFC3339)))
		}
		day := seconds / daySeconds
		b := s.current.Load()
		// The same reading of the clock chooses the day and makes the id: midnight cannot
		// come in between.
		if b != nil && b.day == day && b.generation == s.counter.Generation() {
			if sequence, ok := b.take(); ok {
				return compose(seconds, sequence), nil
			}
		}
		if err := s.replace(ctx, b, day); err != nil {
			return 0, err
		}
	}
}

// block is a run of sequences of one day that this process alone may use.
type block struct {
	day        int64 // since the epoch
	generation uint64
	used       atomic.Int64 // the last one given out; past last once the block is dry
	last       int64
}

// take returns the next sequence, unless the block is dry.
func (b *block) take() (sequence int64, ok bool) {
	sequence = b.used.Add(1)
	return sequence, sequence <= b.last
}

// refill is one attempt to get a block, which all who need one share.
type refill struct {
	done      chan struct{}
	err       error
	abandoned bool // the caller that made the attempt gave up: that says nothing to the others
}

// replace sees to it that the spent block is replaced, by this call or by another.
func (s *Source) replace(ctx context.Context, spent *block, day int64) error {
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
func (s *Source) join(spent *block) (r *refill, mine bool) {
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
func (s *Source) attempt(ctx context.Context, r *refill, day int64) {
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
func (s *Source) take(ctx context.Context, day int64) (*block, error) {
	// Read before the call: if the counter changes meanwhile, the block is dropped.
	generation := s.counter.Generation()
	name := Time(compose(day*daySeconds, 0)).Format("20060102")
	last, err := s.counter.TakeSequence(ctx, name, s.size, -1)
	if errors.Is(err, seckill.NotReady) {
		last, err = s.takeAbove(ctx, day, name, last)
	}
	if err != nil {
		return nil, fault(seckill.CodeOf(err), err)
	}
	first := last - s.size + 1
	if first < 1 || last > sequenceMax {
		return nil, fault(seckill.Internal, fmt.Errorf("the counter of %s gave %d to %d: a day's sequences go from 1 to %d", name, first, last, sequenceMax))
	}
	b := &block{day: day, generation: generation, last: last}
	b.used.Store(first - 1)
	return b, nil
}

// takeAbove goes on far above all that is known: the day's first block, or that of a counter
// that was lost or set back. How far is left to chance, too: where that happens twice in one
// second, SQL may know no more the second time.
func (s *Source) takeAbove(ctx context.Context, day int64, name string, known int64) (int64, error) {
	from, to := bounds(day)
	highest, err := s.ledger.MaxSequence(ctx, from, to)
	if err != nil {
		return 0, err
	}
	return s.counter.TakeSequence(ctx, name, s.size, max(known, highest)+lostGap+rand.Int64N(lostGap))
}

func fault(code seckill.Code, err error) error {
	return &seckill.Error{Op: op, Code: code, Err: err}
}
