package orderid

import (
	"context"
	"fmt"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	op = "orderid.Next"

	blockDefault = 1000
)

// counter gives out the numbers of a day, in each partition of the vouchers by a count of
// its own: so a partition that is away stops no other.
type counter interface {
	// Partitions is how many there are, at least 1, for as long as the process lives.
	Partitions() int
	// Partition returns that of the voucher, from 0.
	Partition(v seckill.VoucherID) int
	// TakeSequence reserves last-n+1..last of the day, "20060102", in partition p. A day without
	// a counter, or with one that may have been set back, is NotReady if floor < 0, with the last
	// that it knows; else its counter goes on from floor.
	TakeSequence(ctx context.Context, p int, day string, n, floor int64) (last int64, err error)
	// Generation changes when a counter may have forgotten what it gave out.
	Generation() uint64
}

// ledger knows the ids that were stored.
type ledger interface {
	// MaxSequence returns the largest sequence of the ids from <= id < to that are of partition p,
	// which is what it leaves when divided by so many partitions; 0 if there is none.
	MaxSequence(ctx context.Context, from, to seckill.OrderID, p, partitions int) (int64, error)
}

// Options of a Source.
type Options struct {
	Block int64            // numbers taken from a counter at a time; 0: 1000
	Now   func() time.Time // the clock; nil: time.Now
}

// Source makes ids. Any number of goroutines may use it, and any number of processes may
// make ids from the same counters.
type Source struct {
	counter counter
	now     func() time.Time
	series  []*series // one for each partition
}

// New returns a Source. It asks the counter for numbers only when ids are asked of it.
func New(c counter, l ledger, o Options) *Source {
	if o.Block <= 0 {
		o.Block = blockDefault
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Source{counter: c, now: o.Now, series: make([]*series, c.Partitions())}
	for p := range s.series {
		s.series[p] = &series{counter: c, ledger: l, size: o.Block, partition: p, partitions: len(s.series)}
	}
	return s
}

// Next returns an id for an order of the voucher, that no other call returned, on any node.
// It asks the voucher's counter once for each block of ids. The code of an error is the
// counter's or the ledger's, Unavailable where ctx ended first, Internal where an id would
// not fit its bits.
func (s *Source) Next(ctx context.Context, v seckill.VoucherID) (seckill.OrderID, error) {
	from := s.series[s.counter.Partition(v)]
	for {
		seconds := s.now().Unix() - epoch
		if seconds < 0 || seconds > secondsMax {
			return 0, fault(seckill.Internal, fmt.Errorf("the clock says %s: ids have room for 2025 to 2093", time.Unix(epoch+seconds, 0).UTC().Format(time.RFC3339)))
		}
		day := seconds / daySeconds
		b := from.current.Load()
		// The same reading of the clock chooses the day and makes the id: midnight cannot
		// come in between.
		if b != nil && b.day == day && b.generation == s.counter.Generation() {
			if sequence, ok := b.take(); ok {
				return compose(seconds, sequence), nil
			}
		}
		if err := from.replace(ctx, b, day); err != nil {
			return 0, err
		}
	}
}

func fault(code seckill.Code, err error) error {
	return &seckill.Error{Op: op, Code: code, Err: err}
}
