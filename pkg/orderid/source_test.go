package orderid_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/seckill"
)

// lostGap is how far above the ledger's largest sequence a lost counter starts again.
const lostGap = 1 << 24

const voucher = seckill.VoucherID(1001)

// tally is the counters of one partition in memory, or of several.
type tally struct {
	partitions int
	mu         sync.Mutex
	days       map[string]int64
	doubtful   map[string]bool // set back, until a call with a floor
	calls      atomic.Int64
	generation atomic.Uint64
	before     func(ctx context.Context) error // runs at the start of each call
}

func newTally() *tally {
	return &tally{partitions: 1, days: map[string]int64{}, doubtful: map[string]bool{}, before: func(context.Context) error { return nil }}
}

func (c *tally) Generation() uint64 { return c.generation.Load() }

func (c *tally) Partitions() int { return c.partitions }

func (c *tally) Partition(v seckill.VoucherID) int { return int(v) % c.partitions }

// of names a counter as a whole: its partition, where there are several, and its day.
func (c *tally) of(p int, day string) string {
	if c.partitions == 1 {
		return day
	}
	return strconv.Itoa(p) + ":" + day
}

func (c *tally) TakeSequence(ctx context.Context, p int, day string, n, floor int64) (int64, error) {
	day = c.of(p, day)
	c.calls.Add(1)
	if err := c.before(ctx); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.days[day]; !ok || c.doubtful[day] {
		if floor < 0 {
			return c.days[day], seckill.NotReady
		}
		c.days[day], c.doubtful[day] = floor, false
	}
	c.days[day] += n
	return c.days[day], nil
}

// setBack lets all counters be where they were.
func (c *tally) setBack(days map[string]int64) {
	c.days = days
	for name := range days {
		c.doubtful[name] = true
	}
	c.generation.Add(1)
}

// stored is a ledger that holds these ids.
type stored []seckill.OrderID

func (l stored) MaxSequence(_ context.Context, from, to seckill.OrderID, p, partitions int) (highest int64, _ error) {
	for _, id := range l {
		if id >= from && id < to && orderid.Sequence(id)%int64(partitions) == int64(p) {
			highest = max(highest, orderid.Sequence(id))
		}
	}
	return highest, nil
}

// clock is a wall clock that a test sets; each reading moves it on by step.
type clock struct {
	at   atomic.Int64 // Unix nanoseconds
	step time.Duration
	zone *time.Location
}

func newClock(at time.Time, step time.Duration) *clock {
	c := &clock{step: step, zone: time.UTC}
	c.set(at)
	return c
}

func (c *clock) set(at time.Time) { c.at.Store(at.UnixNano()) }

func (c *clock) now() time.Time { return time.Unix(0, c.at.Add(int64(c.step))).In(c.zone) }

// take returns n ids of each source, made by so many goroutines.
func take(t *testing.T, goroutines, n int, sources ...*orderid.Source) []seckill.OrderID {
	t.Helper()
	ids := make([][]seckill.OrderID, goroutines)
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := 0; i < n && errs[g] == nil; i++ {
				var id seckill.OrderID
				id, errs[g] = sources[(g+i)%len(sources)].Next(t.Context(), seckill.VoucherID(1+i))
				ids[g] = append(ids[g], id)
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	return slices.Concat(ids...)
}

// requireUnique wants more than distinct ids: no sequence twice within a UTC day, which
// keeps them distinct whatever their seconds are.
func requireUnique(t *testing.T, ids []seckill.OrderID) {
	t.Helper()
	require.Positive(t, slices.Min(ids))
	places := make([]int64, len(ids))
	for i, id := range ids {
		places[i] = orderid.Time(id).Unix()/86400<<32 | orderid.Sequence(id)
	}
	slices.Sort(places)
	require.Len(t, slices.Compact(places), len(ids))
}

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func TestNextIsUnique(t *testing.T) {
	c := newTally()
	a, b := orderid.New(c, stored{}, orderid.Options{}), orderid.New(c, stored{}, orderid.Options{})
	requireUnique(t, take(t, 8, 125_000, a, b))
	require.Less(t, c.calls.Load(), int64(1100), "one call for each block of 1000")
}

func TestNextIsUniqueOverMidnight(t *testing.T) {
	c := newTally()
	at := newClock(noon.Add(12*time.Hour-time.Second), 10*time.Microsecond)
	o := orderid.Options{Block: 100, Now: at.now}
	ids := take(t, 8, 25_000, orderid.New(c, stored{}, o), orderid.New(c, stored{}, o))
	requireUnique(t, ids)
	days := map[string]int64{}
	for _, id := range ids {
		day := orderid.Time(id).Format("20060102")
		days[day] = max(days[day], orderid.Sequence(id))
	}
	require.Len(t, days, 2)
	for day, highest := range days {
		require.LessOrEqual(t, highest, c.days[day], "a sequence comes from the counter of its id's day")
	}
}

func TestNextIsUniqueWhenTheClockStepsBack(t *testing.T) {
	tests := []struct {
		name string
		back time.Duration
	}{
		{"five seconds", 5 * time.Second},
		{"over midnight", 13 * time.Hour},
		{"a day", 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, at := newTally(), newClock(noon, time.Microsecond)
			s := orderid.New(c, stored{}, orderid.Options{Now: at.now})
			ids := take(t, 4, 2500, s)
			at.set(noon.Add(-tt.back))
			ids = append(ids, take(t, 4, 2500, s)...)
			restarted := orderid.New(c, stored{}, orderid.Options{Now: at.now})
			at.set(noon.Add(-tt.back))
			requireUnique(t, append(ids, take(t, 4, 2500, restarted)...))
		})
	}
}

func TestNextIgnoresTimeZones(t *testing.T) {
	c := newTally()
	// 23:30 UTC is the next day in Shanghai and the same one in New York.
	at := time.Date(2026, time.March, 1, 23, 30, 0, 0, time.UTC)
	var ids []seckill.OrderID
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("Asia/Shanghai", 8*3600), time.FixedZone("America/New_York", -5*3600)} {
		node := newClock(at, 0)
		node.zone = zone
		ids = append(ids, take(t, 1, 100, orderid.New(c, stored{}, orderid.Options{Now: node.now}))...)
	}
	requireUnique(t, ids)
	require.Len(t, c.days, 1)
	require.Contains(t, c.days, "20260301")
	for _, id := range ids {
		require.Equal(t, at, orderid.Time(id))
	}
}

func TestNextWhenTheCounterIsLost(t *testing.T) {
	c, at := newTally(), newClock(noon, 0)
	o := orderid.Options{Now: at.now}
	l := &stored{}
	a, b := orderid.New(c, l, o), orderid.New(c, l, o)
	before := take(t, 2, 1500, a, b)

	clear(c.days) // Redis is empty, in the same second
	c.generation.Add(1)
	*l = before[:100] // most were not stored yet
	highest, err := l.MaxSequence(t.Context(), 0, math.MaxInt64, 0, 1)
	require.NoError(t, err)
	after := take(t, 2, 1500, orderid.New(c, l, o), a)
	requireUnique(t, append(before, after...))
	for _, id := range after {
		require.Greater(t, orderid.Sequence(id), highest+lostGap-1, "far above what was stored")
	}
}

// Redis came back with a counter of half a minute ago, and SQL stored none of the ids since.
func TestNextWhenTheCounterIsSetBack(t *testing.T) {
	c, at := newTally(), newClock(noon, 0)
	o := orderid.Options{Now: at.now}
	a, b := orderid.New(c, stored{}, o), orderid.New(c, stored{}, o)
	first := take(t, 1, 10, a)
	old := maps.Clone(c.days)
	before := take(t, 2, 1500, a, b)

	c.setBack(old)
	after := take(t, 2, 1500, b, a)
	requireUnique(t, slices.Concat(first, before, after))
}

func TestNextDropsItsBlockWithTheGeneration(t *testing.T) {
	c, at := newTally(), newClock(noon, 0)
	s := orderid.New(c, stored{}, orderid.Options{Now: at.now})
	first := take(t, 1, 2, s)
	require.Equal(t, orderid.Sequence(first[0])+1, orderid.Sequence(first[1]))
	c.generation.Add(1)
	second := take(t, 1, 2, s)
	require.Equal(t, orderid.Sequence(first[0])+1000, orderid.Sequence(second[0]))
	require.Equal(t, orderid.Sequence(second[0])+1, orderid.Sequence(second[1]))
}

func TestNextRefusesOverflow(t *testing.T) {
	last := time.Unix(time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()+math.MaxInt32, 0).UTC()
	tests := []struct {
		name  string
		at    time.Time
		count int64 // where the day's counter is
		cause string
	}{
		{"the first second of ids", time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC), 0, ""},
		{"the last second of ids", last, 0, ""},
		{"a clock before 2025", time.Date(2024, time.December, 31, 23, 59, 59, 0, time.UTC), 0, "the clock says 2024-12-31T23:59:59Z"},
		{"a clock past 31 bits", last.Add(time.Second), 0, "the clock says 2093-01-19T03:14:08Z"},
		{"the last block of a day", noon, math.MaxUint32 - 10, ""},
		{"a block past 32 bits", noon, math.MaxUint32 - 9, "a day's numbers go from 1 to 4294967295"},
		{"a counter below zero", noon, -1, "a day's numbers go from 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newTally()
			c.days[tt.at.Format("20060102")] = tt.count
			s := orderid.New(c, stored{}, orderid.Options{Block: 10, Now: newClock(tt.at, 0).now})
			id, err := s.Next(t.Context(), voucher)
			if tt.cause == "" {
				require.NoError(t, err)
				require.Equal(t, tt.at, orderid.Time(id))
				require.Equal(t, tt.count+1, orderid.Sequence(id))
				return
			}
			require.ErrorIs(t, err, seckill.Internal)
			require.ErrorContains(t, err, tt.cause)
			require.Zero(t, id)
		})
	}
}

// broken is a ledger that does not answer.
type broken struct{}

func (broken) MaxSequence(context.Context, seckill.OrderID, seckill.OrderID, int, int) (int64, error) {
	return 0, &seckill.Error{Op: "ledger", Code: seckill.Unavailable}
}

func TestNextWithoutLedger(t *testing.T) {
	c := newTally()
	s := orderid.New(c, broken{}, orderid.Options{})
	_, err := s.Next(t.Context(), voucher)
	require.ErrorIs(t, err, seckill.Unavailable)
	require.Empty(t, c.days, "a counter that may have been lost is not begun at a guess")
}

func TestNextSharesOneRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, answer := newTally(), make(chan error)
		c.before = func(context.Context) error { return <-answer }
		s := orderid.New(c, stored{}, orderid.Options{Now: newClock(noon, 0).now})
		errs := make(chan error, 100)
		for range 100 {
			go func() {
				_, err := s.Next(t.Context(), voucher)
				errs <- err
			}()
		}
		synctest.Wait()
		answer <- &seckill.Error{Op: "counter", Code: seckill.Unavailable, Err: errors.New("EOF")}
		for range 100 {
			require.EqualError(t, <-errs, "orderid.Next: UNAVAILABLE: counter: UNAVAILABLE: EOF")
		}
		require.Equal(t, int64(1), c.calls.Load(), "a crowd asks once")
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, answer := newTally(), make(chan struct{})
		c.before = func(ctx context.Context) error {
			select {
			case <-answer:
				return nil
			case <-ctx.Done():
				return &seckill.Error{Op: "counter", Code: seckill.Unavailable, Err: ctx.Err()}
			}
		}
		s := orderid.New(c, stored{}, orderid.Options{Now: newClock(noon, 0).now})
		call := func() (cancel context.CancelFunc, err chan error) {
			ctx, cancel := context.WithCancel(t.Context())
			err = make(chan error, 1)
			go func() {
				_, e := s.Next(ctx, voucher)
				err <- e
			}()
			synctest.Wait()
			return cancel, err
		}
		leave, first := call() // makes the attempt
		hangUp, second := call()
		stay, third := call()
		defer stay()

		hangUp()
		err := <-second
		require.ErrorIs(t, err, seckill.Unavailable)
		require.ErrorIs(t, err, context.Canceled)

		leave()
		require.ErrorIs(t, <-first, context.Canceled)
		synctest.Wait()
		close(answer)
		require.NoError(t, <-third, "who waits does not fail with the one that asked")
	})
}

func TestNextDoesNotAllocate(t *testing.T) {
	s := orderid.New(newTally(), stored{}, orderid.Options{Block: 1 << 20})
	ctx := t.Context()
	_, err := s.Next(ctx, voucher)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = s.Next(ctx, voucher) }))
}

func BenchmarkNext(b *testing.B) {
	s := orderid.New(newTally(), stored{}, orderid.Options{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Next(b.Context(), voucher); err != nil {
				b.Error(err)
			}
		}
	})
}
