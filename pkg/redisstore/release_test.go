package redisstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// A11: a unit comes back once, and never by an older order of the same user.
func TestRelease(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 2)
	admit(t, s, order(42, 900))
	requireBooks(t, s, 1, 1)
	for i := range 20 {
		released, err := s.Release(t.Context(), order(42, 900))
		require.NoError(t, err)
		require.Equal(t, i == 0, released)
	}
	requireBooks(t, s, 2, 0)
	admit(t, s, order(42, 901))
	before := redistest.Dump(t, c)
	released, err := s.Release(t.Context(), order(42, 900))
	require.NoError(t, err)
	require.False(t, released)
	require.Equal(t, before, redistest.Dump(t, c))
}

func TestReleaseWhere(t *testing.T) {
	t.Run("more were sold than there are, the stock stays 0", func(t *testing.T) {
		s, c := open(t)
		sell(t, s, voucher, 3)
		for i := range int64(3) {
			admit(t, s, order(i+1, i+1))
		}
		require.NoError(t, c.HSet(t.Context(), "seckill:voucher:1001", "total", 1).Err())
		for i, want := range []string{"0", "0", "1"} {
			released, err := s.Release(t.Context(), order(int64(i)+1, int64(i)+1))
			require.NoError(t, err)
			require.True(t, released)
			require.Equal(t, want, c.Get(t.Context(), "seckill:stock:1001").Val())
		}
	})
	t.Run("a sync is under way, the stock is left to it", func(t *testing.T) {
		s, c := open(t)
		v := sell(t, s, voucher, 3)
		admit(t, s, order(42, 900))
		require.NoError(t, s.Load(t.Context(), voucher, "second"))
		released, err := s.Release(t.Context(), order(42, 900))
		require.NoError(t, err)
		require.True(t, released)
		require.Equal(t, "2", c.Get(t.Context(), "seckill:stock:1001").Val())
		left, err := s.OpenSale(t.Context(), v, "second")
		require.NoError(t, err)
		require.EqualValues(t, 3, left)
	})
	t.Run("the buyers have another type, nothing is written", func(t *testing.T) {
		s, c := open(t)
		sell(t, s, voucher, 3)
		admit(t, s, order(42, 900))
		require.NoError(t, c.Set(t.Context(), "seckill:order:1001", "x", 0).Err())
		before := redistest.Dump(t, c)
		_, err := s.Release(t.Context(), order(42, 900))
		require.ErrorIs(t, err, seckill.Internal)
		require.Equal(t, before, redistest.Dump(t, c))
	})
}

func TestAdopt(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 2)
	admit(t, s, order(42, 900))
	for i := range 3 {
		adopted, err := s.Adopt(t.Context(), order(42, 900), 800)
		require.NoError(t, err)
		require.Equal(t, i == 0, adopted)
	}
	require.Equal(t, "800", c.HGet(t.Context(), "seckill:ticket:1001", "42").Val())
	requireBooks(t, s, 1, 1)
}

func TestRequeue(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 2)
	admit(t, s, order(42, 900))
	require.NoError(t, c.Del(t.Context(), "seckill:stream").Err())
	queued, err := s.Requeue(t.Context(), order(42, 900))
	require.NoError(t, err)
	require.True(t, queued)
	entries := c.XRange(t.Context(), "seckill:stream", "-", "+").Val()
	require.Len(t, entries, 1)
	require.Equal(t, map[string]any{"id": "900", "userId": "42", "voucherId": "1001"}, entries[0].Values)
	queued, err = s.Requeue(t.Context(), order(42, 901))
	require.NoError(t, err)
	require.False(t, queued)
	require.EqualValues(t, 1, c.XLen(t.Context(), "seckill:stream").Val())
	requireBooks(t, s, 1, 1)
}

func TestMark(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 2)
	marked, err := s.Mark(t.Context(), order(42, 900), 0)
	require.NoError(t, err)
	require.True(t, marked)
	requireBooks(t, s, 1, 1)
	marked, err = s.Mark(t.Context(), order(42, 901), 0)
	require.NoError(t, err)
	require.False(t, marked, "the ticket is not the one that was read")
	marked, err = s.Mark(t.Context(), order(42, 901), 900)
	require.NoError(t, err)
	require.True(t, marked)
	requireBooks(t, s, 1, 1)
	require.NoError(t, c.Set(t.Context(), "seckill:stock:1001", "2", 0).Err())
	_, err = s.Mark(t.Context(), order(43, 902), 0)
	require.ErrorIs(t, err, seckill.NotReady)
}
