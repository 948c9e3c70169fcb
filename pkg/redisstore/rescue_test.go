package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
)

func rescue(t *testing.T, s *Store) int {
	t.Helper()
	n, err := s.Rescue(t.Context(), 0, "a")
	require.NoError(t, err)
	return n
}

func claimIdle(t *testing.T, s *Store) []string {
	t.Helper()
	ds, next, lost, err := s.Claim(t.Context(), 0, "b", time.Hour, "0-0", 10_000)
	require.NoError(t, err)
	require.Equal(t, "0-0", next)
	require.Empty(t, lost)
	return entriesOf(ds)
}

// An operator's hand can leave entries in the stream that nobody would ever read.
func TestRescue(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, c *redis.Client, read []string)
		want func(read, all []string) []string
	}{
		"all is well": {
			func(*testing.T, *redis.Client, []string) {},
			func([]string, []string) []string { return nil },
		},
		"the group was set to the end": {
			func(t *testing.T, c *redis.Client, read []string) {
				require.NoError(t, c.XGroupSetID(t.Context(), "seckill:stream", "seckillGroup", "$").Err())
				require.NoError(t, c.XAck(t.Context(), "seckill:stream", "seckillGroup", read...).Err())
				require.NoError(t, c.XDel(t.Context(), "seckill:stream", read...).Err())
			},
			func(read, all []string) []string { return all[len(read):] },
		},
		"what was read was acknowledged": {
			func(t *testing.T, c *redis.Client, read []string) {
				require.NoError(t, c.XAck(t.Context(), "seckill:stream", "seckillGroup", read...).Err())
			},
			func(read, _ []string) []string { return read },
		},
		"some of it was acknowledged and deleted": {
			func(t *testing.T, c *redis.Client, read []string) {
				require.NoError(t, c.XAck(t.Context(), "seckill:stream", "seckillGroup", read[:2]...).Err())
				require.NoError(t, c.XDel(t.Context(), "seckill:stream", read[0]).Err())
			},
			func(read, _ []string) []string { return read[1:2] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, redis := open(t)
			sell(t, s, voucher, 2500)
			buy(t, s, 2500)
			var all []string
			for _, m := range redis.XRange(t.Context(), "seckill:stream", "-", "+").Val() {
				all = append(all, m.ID)
			}
			taken := entriesOf(read(t, s, "c", 10))
			c.harm(t, redis, taken)
			want := c.want(taken, all)
			require.Equal(t, len(want), rescue(t, s))
			require.Equal(t, want, claimIdle(t, s))
			require.Zero(t, rescue(t, s), "a second time nothing is left to take")
		})
	}
}

func TestRescueWithoutAStream(t *testing.T) {
	s, c := open(t)
	require.Zero(t, rescue(t, s))
	require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream", Values: []string{"id", "1"}}).Err())
	require.Zero(t, rescue(t, s), "there is no group")
}

// A group that is begun anew while somebody looks has yet to read what stands in the stream.
func TestRescueWhileTheGroupBeginsAnew(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := faultnet.New(t, server.Addr())
	s, c := openAt(t, Options{Addrs: []string{proxy.Addr()}}), server.ClientOf(t)
	require.NoError(t, c.XGroupCreateMkStream(t.Context(), "seckill:stream", "seckillGroup", "0").Err())
	require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream", Values: []string{"id", "1"}}).Err())
	require.NoError(t, c.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "seckillGroup", Consumer: "b", Streams: []string{"seckill:stream", ">"}}).Err())

	looks := proxy.Hold(faultnet.Has("xpending"))
	found := make(chan int, 1)
	go func() {
		n, err := s.Rescue(t.Context(), 0, "a")
		assert.NoError(t, err)
		found <- n
	}()
	<-looks.Arrived()
	require.NoError(t, c.XGroupDestroy(t.Context(), "seckill:stream", "seckillGroup").Err())
	require.NoError(t, c.XGroupCreate(t.Context(), "seckill:stream", "seckillGroup", "0").Err())
	looks.Release()
	require.Zero(t, <-found)
}

func TestLater(t *testing.T) {
	ids := []string{"", "0-0", "0-9", "0-10", "9-1", "10-0", "1796082100000-3"}
	for i, a := range ids {
		for j, b := range ids {
			require.Equal(t, i > j, later(a, b), "%q %q", a, b)
		}
	}
}
