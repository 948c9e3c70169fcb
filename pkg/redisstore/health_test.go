package redisstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	server := redistest.NewWith(t, redistest.Options{AOF: "always"})
	s, c := openAt(t, Options{Addrs: []string{server.Addr()}}), server.ClientOf(t)
	h, err := s.Health(t.Context())
	require.NoError(t, err)
	require.Positive(t, h.Memory)
	h.Memory = 0
	require.Equal(t, seckill.RedisHealth{}, h, "nothing is wrong with it")

	for name, value := range map[string]string{"maxmemory-policy": "allkeys-lru", "maxmemory": "1gb", "appendonly": "no"} {
		require.NoError(t, c.ConfigSet(t.Context(), name, value).Err())
	}
	h, err = s.Health(t.Context())
	require.NoError(t, err)
	h.Memory = 0
	require.Equal(t, seckill.RedisHealth{Evicts: true, InMemory: true, MemoryMax: 1 << 30}, h)

	require.NoError(t, server.Kill())
	_, err = s.Health(t.Context())
	require.ErrorIs(t, err, seckill.Unavailable)
}

func TestHealthOfSeveral(t *testing.T) {
	full := "used_memory:90\r\nmaxmemory:100\r\nconnected_slaves:2\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n"
	empty := "used_memory:500\r\nmaxmemory:1000\r\nconnected_slaves:1\r\naof_enabled:1\r\naof_last_write_status:err\r\n"
	want := seckill.RedisHealth{SaveFailed: true, Memory: 90, MemoryMax: 100, Replicas: 1}
	require.Equal(t, want, worse(health(full), health(empty)))
	require.Equal(t, want, worse(health(empty), health(full)))
	require.Equal(t, seckill.RedisHealth{}, health("redis_version:7.0.0\r\n"), "what is not told is good")
}

func TestPools(t *testing.T) {
	s := openAt(t, Options{Addrs: []string{redistest.New(t).Addr()}, PoolSize: 5})
	require.NoError(t, s.Ping(t.Context()))
	require.Equal(t, []seckill.Pool{{Name: "redis", Max: 5}, {Name: "redis_reads", Max: 3}}, s.Pools())
}

func TestUsage(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	buy(t, s, 3)
	l := s.Usage()
	require.Positive(t, l.Trips)
	require.GreaterOrEqual(t, l.Sent, uint64(3))
	require.Equal(t, 4096, l.QueueMax)
	require.Zero(t, l.Queue)
	require.Zero(t, l.LocksLost)

	lease, err := s.Lock(t.Context(), 0, []seckill.UserID{1}, LockOptions{TTL: 30 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, c.Del(t.Context(), s.keys.lock(0, 1)).Err())
	<-lease.Context().Done()
	require.EqualValues(t, 1, s.Usage().LocksLost)
	require.NoError(t, lease.Release())
}
