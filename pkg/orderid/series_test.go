package orderid_test

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/seckill"
)

func newTallies(partitions int) *tally {
	c := newTally()
	c.partitions = partitions
	return c
}

// However far their counters are, and over midnight, partitions do not meet.
func TestNextIsUniqueOverPartitions(t *testing.T) {
	for _, partitions := range []int{2, 3, 12, 1024} {
		t.Run(strconv.Itoa(partitions), func(t *testing.T) {
			c := newTallies(partitions)
			for p := range partitions { // the counters are close to each other
				c.days[c.of(p, "20260101")], c.days[c.of(p, "20260102")] = int64(p%3), int64(p%5)
			}
			at := newClock(noon.Add(12*time.Hour-time.Second), 100*time.Microsecond)
			o := orderid.Options{Block: 7, Now: at.now}
			ids := take(t, 4, 5_000, orderid.New(c, stored{}, o), orderid.New(c, stored{}, o))
			requireUnique(t, ids)
			require.True(t, slices.ContainsFunc(ids, func(id seckill.OrderID) bool { return orderid.Time(id).Day() == 2 }))
		})
	}
}

func TestNextIsOfTheVouchersPartition(t *testing.T) {
	c := newTallies(12)
	s := orderid.New(c, stored{}, orderid.Options{})
	for v := seckill.VoucherID(1); v <= 100; v++ {
		id, err := s.Next(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, int64(v)%12, orderid.Sequence(id)%12)
	}
	require.Len(t, c.days, 12)
}

// The partition whose counter is away goes on to the end of its block, the others for ever.
func TestNextWhileACounterIsAway(t *testing.T) {
	away := &seckill.Error{Op: "counter", Code: seckill.Unavailable}
	c, dead := newTallies(3), false
	s := orderid.New(lame{c, func(p int) error {
		if dead && p == 1 {
			return away
		}
		return nil
	}}, stored{}, orderid.Options{Block: 10, Now: newClock(noon, 0).now})
	first := take(t, 1, 3, s)
	dead = true
	for range 9 {
		id, err := s.Next(t.Context(), 1)
		require.NoError(t, err)
		first = append(first, id)
	}
	for range 100 {
		_, err := s.Next(t.Context(), 1)
		require.ErrorIs(t, err, seckill.Unavailable)
		for _, v := range []seckill.VoucherID{2, 3} {
			id, err := s.Next(t.Context(), v)
			require.NoError(t, err)
			first = append(first, id)
		}
	}
	requireUnique(t, first)
}

// lame is counters of which some do not answer.
type lame struct {
	*tally
	fault func(p int) error
}

func (c lame) TakeSequence(ctx context.Context, p int, day string, n, floor int64) (int64, error) {
	if err := c.fault(p); err != nil {
		return 0, err
	}
	return c.tally.TakeSequence(ctx, p, day, n, floor)
}

// All counters are lost, or older, in the second in which they were used, and SQL stored
// little of it: each goes on above all that its own partition gave out.
func TestNextWhenCountersOfPartitionsAreLost(t *testing.T) {
	for _, partitions := range []int{2, 12, 1024} {
		for _, left := range []string{"none", "older ones"} {
			t.Run(strconv.Itoa(partitions)+" and "+left+" left", func(t *testing.T) {
				c, at, l := newTallies(partitions), newClock(noon, 0), &stored{}
				o := orderid.Options{Now: at.now, Block: 10}
				a, b := orderid.New(c, l, o), orderid.New(c, l, o)
				before := take(t, 2, partitions, a, b)
				*l = before[:partitions+partitions/2]
				old := maps.Clone(c.days)
				before = append(before, take(t, 2, 15*partitions, a, b)...)

				if left == "none" {
					clear(old)
				}
				c.setBack(old)
				requireUnique(t, append(before, take(t, 2, 15*partitions, b, a)...))
			})
		}
	}
}

// The ids that another number of partitions made, or none, are in SQL: new counters begin
// above them.
func TestNextAfterTheNumberOfPartitionsChanged(t *testing.T) {
	at := newClock(noon, 0)
	o := orderid.Options{Now: at.now, Block: 10}
	var ids stored
	for _, partitions := range []int{1, 8, 3, 12, 1, 1024, 2} {
		ids = append(ids, take(t, 2, 3000, orderid.New(newTallies(partitions), slices.Clone(ids), o))...)
	}
	requireUnique(t, ids)
}

// However many partitions there are, and however often SQL knows each id of the last time,
// a day has room for 32 losses of each counter, its beginning among them.
func TestNextHasRoomForLosses(t *testing.T) {
	for _, partitions := range []int{1, 2, 4, 5, 12, 16, 100, 1024} {
		t.Run(strconv.Itoa(partitions), func(t *testing.T) {
			c, ids := newTallies(partitions), &stored{}
			apart := max(1, partitions/12)
			for range 31 {
				clear(c.days)
				s := orderid.New(c, ids, orderid.Options{Block: 10, Now: newClock(noon, 0).now})
				for p := partitions - 1; p >= 0; p -= apart {
					id, err := s.Next(t.Context(), seckill.VoucherID(p))
					require.NoError(t, err)
					*ids = append(*ids, id)
				}
			}
			requireUnique(t, *ids)
		})
	}
}

func TestNextRefusesOverflowOfAPartition(t *testing.T) {
	for _, row := range []struct {
		name       string
		partitions int
		voucher    seckill.VoucherID
		count      int64 // where the counter is
		fits       bool
	}{
		{"the largest sequence of all", 4, 3, math.MaxUint32/4 - 10, true},
		{"a block past it", 4, 3, math.MaxUint32/4 - 9, false},
		{"the first partition has room for one number more", 7, 0, math.MaxUint32/7 - 10, true},
		{"which the last has not", 7, 6, math.MaxUint32/7 - 10, false},
		{"the last number of the last", 7, 6, math.MaxUint32/7 - 11, true},
		{"a counter so large that its product would be small", 4, 1, 1<<62 - 5, false},
		{"a counter below zero", 4, 1, -1, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newTallies(row.partitions)
			p := c.Partition(row.voucher)
			c.days[c.of(p, "20260101")] = row.count
			s := orderid.New(c, stored{}, orderid.Options{Block: 10, Now: newClock(noon, 0).now})
			for i := range int64(10) {
				id, err := s.Next(t.Context(), row.voucher)
				if !row.fits {
					require.ErrorIs(t, err, seckill.Internal)
					require.ErrorContains(t, err, "in partition "+strconv.Itoa(p))
					require.Zero(t, id)
					return
				}
				require.NoError(t, err)
				require.Equal(t, noon, orderid.Time(id))
				require.Equal(t, (row.count+1+i)*int64(row.partitions)+int64(p), orderid.Sequence(id))
			}
		})
	}
}
