package redisstore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestPartitionsStayTheSame(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	c := server.ClientOf(t)
	openWith := func(n int) error {
		s, err := Open(t.Context(), Options{Addrs: []string{server.Addr()}, Partitions: n})
		if err != nil {
			return err
		}
		require.NoError(t, s.Ping(t.Context()))
		return s.Close()
	}
	require.NoError(t, openWith(12))
	require.NoError(t, openWith(12))
	err := openWith(16)
	require.ErrorIs(t, err, seckill.Invalid)
	require.ErrorContains(t, err, "SECKILL_PARTITIONS is 16")
	require.ErrorContains(t, err, "made with 12")
	require.ErrorIs(t, openWith(0), seckill.Invalid)

	require.NoError(t, c.FlushAll(t.Context()).Err())
	require.NoError(t, openWith(0), "a Redis without keys takes any number")
}

// What was written before anyone wrote the number down tells it all the same.
func TestPartitionsOfOldKeys(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, key string
		fits      []int
	}{
		{"a voucher of one Redis without partitions", "seckill:stock:1001", []int{0}},
		{"a voucher in the partition where some numbers put it", "seckill:stock:{1}:1001", []int{4, 5, 1000}},
		{"a stream without partitions", "seckill:stream", []int{0}},
		{"a stream of the fifth partition", "seckill:stream:{4}", []int{5, 16, 1000}},
		{"somebody else's", "seckill:banner:7", []int{0, 4, 5, 16, 1000}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, n := range []int{0, 4, 5, 16, 1000} {
				s, c := open(t)
				require.NoError(t, c.FlushAll(t.Context()).Err())
				require.NoError(t, c.Set(t.Context(), row.key, "1", 0).Err())
				s.keys.partitions = n
				err := s.settleOn(t.Context(), s.db)
				require.Equal(t, slices.Contains(row.fits, n), err == nil, "%d: %v", n, err)
			}
		})
	}
}

// A program that runs meets another Redis, which programs with another number use.
func TestMeetRefusesOtherPartitions(t *testing.T) {
	server := redistest.New(t)
	s := openAt(t, Options{Addrs: []string{server.Addr()}, Partitions: 4})
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, server.Restart()) // without its data
	c := server.ClientOf(t)
	require.NoError(t, c.Set(t.Context(), "seckill:partitions", "8", 0).Err())
	require.Eventually(t, func() bool {
		err := s.PingPartition(t.Context(), 0)
		return err != nil && strings.Contains(err.Error(), "made with 8")
	}, time.Minute, time.Millisecond)
}

func TestOpenCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 1, redistest.Options{})
	for _, row := range []struct {
		name string
		o    Options
		want string // words of the error; "": it opens
	}{
		{"without partitions", Options{Addrs: cluster.Addrs()[:1]}, "SECKILL_PARTITIONS"},
		{"several addresses, without partitions", Options{Addrs: cluster.Addrs()}, "SECKILL_PARTITIONS"},
		{"a database that no cluster has", Options{Addrs: cluster.Addrs()[:1], Partitions: 4, DB: 3}, "SECKILL_REDIS_DB is 3"},
		{"one address", Options{Addrs: cluster.Addrs()[:1], Partitions: 4}, ""},
		{"the address of a replica", Options{Addrs: cluster.Addrs()[5:], Partitions: 4}, ""},
		{"the first address is dead", Options{Addrs: []string{"127.0.0.1:1", cluster.Addrs()[1]}, Partitions: 4}, ""},
		{"another number of partitions than before", Options{Addrs: cluster.Addrs(), Partitions: 5}, "made with 4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := Open(t.Context(), row.o)
			if row.want != "" {
				require.ErrorIs(t, err, seckill.Invalid)
				require.ErrorContains(t, err, row.want)
				return
			}
			require.NoError(t, err)
			for p := range s.Partitions() {
				require.NoError(t, s.PingPartition(t.Context(), p))
			}
			require.NoError(t, s.Close())
		})
	}
	t.Run("one of the masters drops keys", func(t *testing.T) {
		require.NoError(t, cluster.Nodes[2].ClientOf(t).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
		_, err := Open(t.Context(), Options{Addrs: cluster.Addrs()[:1], Partitions: 4})
		require.ErrorIs(t, err, seckill.Invalid)
		require.ErrorContains(t, err, "allkeys-lru")
		require.NoError(t, cluster.Nodes[2].ClientOf(t).ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	})
	t.Run("a master is away", func(t *testing.T) {
		keeper, err := cluster.Owner(t.Context(), partitions)
		require.NoError(t, err)
		away := cluster.Nodes[0]
		if away == keeper {
			away = cluster.Nodes[1]
		}
		require.NoError(t, away.Kill())
		openAt(t, Options{Addrs: cluster.Addrs(), Partitions: 4})
	})
}
