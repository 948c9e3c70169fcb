package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func info(t *testing.T, s *Store) seckill.StreamInfo {
	t.Helper()
	i, err := s.StreamInfo(t.Context(), 0)
	require.NoError(t, err)
	return i
}

func TestStreamInfo(t *testing.T) {
	s, c := open(t)
	require.Zero(t, info(t, s), "no stream is no fault")

	sell(t, s, voucher, 10)
	buy(t, s, 3)
	i := info(t, s)
	require.EqualValues(t, 3, i.Length)
	require.EqualValues(t, 3, i.Lag, "without a group nobody has read anything")
	require.Empty(t, i.Consumers)

	ds := read(t, s, "a", 2)
	i = info(t, s)
	require.EqualValues(t, 3, i.Length)
	require.EqualValues(t, 2, i.Pending)
	require.EqualValues(t, 1, i.Lag)
	require.Len(t, i.Consumers, 1)
	require.Equal(t, "a", i.Consumers[0].Name)
	require.EqualValues(t, 2, i.Consumers[0].Pending)
	require.Less(t, i.Consumers[0].Idle, time.Minute)

	_, err := s.Settle(t.Context(), 0, entriesOf(append(ds, read(t, s, "a", 2)...)))
	require.NoError(t, err)
	i = info(t, s)
	require.Zero(t, i.Length+i.Pending+i.Lag)
	require.Zero(t, i.Oldest)

	require.NoError(t, c.Set(t.Context(), "seckill:stream", "text", 0).Err())
	_, err = s.StreamInfo(t.Context(), 0)
	require.ErrorIs(t, err, seckill.Internal)
}

// The age is told by Redis's clock alone, which wrote the id of the entry.
func TestStreamInfoOldest(t *testing.T) {
	s, c := open(t)
	now := c.Time(t.Context()).Val()
	for _, at := range []time.Time{now.Add(-time.Minute), now.Add(-time.Second)} {
		id := time.UnixMilli(at.UnixMilli())
		require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream", ID: entryAt(id), Values: []string{"id", "1"}}).Err())
	}
	oldest := info(t, s).Oldest
	require.GreaterOrEqual(t, oldest, time.Minute)
	require.Less(t, oldest, time.Hour)
}

// C29: once an entry was deleted that nobody had read, Redis cannot tell the lag any more,
// and unknown must not read as none.
func TestStreamInfoUnknownLag(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 4)
	buy(t, s, 4)
	require.Len(t, read(t, s, "a", 2), 2)
	third := c.XRange(t.Context(), "seckill:stream", "-", "+").Val()[2].ID
	require.NoError(t, c.XDel(t.Context(), "seckill:stream", third).Err())
	i := info(t, s)
	require.EqualValues(t, seckill.LagUnknown, i.Lag)
	require.EqualValues(t, 3, i.Length)
	require.EqualValues(t, 2, i.Pending)
}

// The same comes of two batches of which the later one is settled first.
func TestStreamInfoLagOutOfOrder(t *testing.T) {
	s, _ := open(t)
	sell(t, s, voucher, 4)
	buy(t, s, 4)
	first, second := read(t, s, "a", 1), read(t, s, "a", 1)
	_, err := s.Settle(t.Context(), 0, entriesOf(second))
	require.NoError(t, err)
	require.NotZero(t, info(t, s).Lag, "two wait, whether Redis can tell or not")
	_, err = s.Settle(t.Context(), 0, entriesOf(append(first, read(t, s, "a", 4)...)))
	require.NoError(t, err)
	require.Zero(t, info(t, s).Lag, "and it finds its way back")
}

func TestRetire(t *testing.T) {
	s, c := open(t)
	names, err := s.Retire(t.Context(), 0, 0)
	require.NoError(t, err, "no stream is no fault")
	require.Empty(t, names)

	sell(t, s, voucher, 10)
	buy(t, s, 1)
	require.Len(t, read(t, s, "holds one", 1), 1)
	start := func(name string) { // as a worker does
		_, _, _, err := s.ReadOwn(t.Context(), 0, name, "0", 1)
		require.NoError(t, err)
	}
	for _, name := range []string{"dead", "gone", "new"} {
		start(name)
	}
	names, err = s.Retire(t.Context(), 0, time.Hour)
	require.NoError(t, err)
	require.Empty(t, names, "none has been silent for an hour")

	require.NoError(t, s.DropConsumer(t.Context(), 0, "new"))
	require.NoError(t, s.DropConsumer(t.Context(), 0, "holds one"))
	require.NoError(t, s.DropConsumer(t.Context(), 0, "never there"))
	names, err = s.Retire(t.Context(), 0, 0)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"dead", "gone"}, names)
	consumers := c.XInfoConsumers(t.Context(), "seckill:stream", "seckillGroup").Val()
	require.Len(t, consumers, 1)
	require.Equal(t, "holds one", consumers[0].Name)
	require.EqualValues(t, 1, pending(t, c))

	buy(t, s, 2)
	require.Len(t, read(t, s, "dead", 1), 1, "who was only slow comes back by reading")
}
