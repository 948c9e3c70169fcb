package obs_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

// servers are stores of which a test says how they are.
type servers struct {
	health seckill.RedisHealth
	err    error
}

func (s *servers) Pools() []seckill.Pool { return []seckill.Pool{{Name: "redis", Used: 3, Max: 64}} }

func (s *servers) Pool() seckill.Pool { return seckill.Pool{Name: "sql", Used: 16, Max: 16, Waits: 7} }

func (s *servers) Health(context.Context) (seckill.RedisHealth, error) { return s.health, s.err }

func TestStores(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := &servers{health: seckill.RedisHealth{Evicts: true, Memory: 90, MemoryMax: 100, Replicas: 1}}
	stores := obs.NewStores(reg, s, s, func(context.Context) error { return s.err })
	require.Equal(t, []string{
		`seckill_pool_connections{pool="redis"} 3`, `seckill_pool_connections{pool="sql"} 16`,
		`seckill_pool_connections_max{pool="redis"} 64`, `seckill_pool_connections_max{pool="sql"} 16`,
		`seckill_pool_waits_total{pool="redis"} 0`, `seckill_pool_waits_total{pool="sql"} 7`,
	}, metrics(t, reg, "seckill_pool"))

	about := []string{
		"seckill_redis_evicts 1", "seckill_redis_in_memory 0", "seckill_redis_memory_bytes 90",
		"seckill_redis_memory_max_bytes 100", "seckill_redis_replicas 1", "seckill_redis_save_failed 0",
	}
	stores.Look(t.Context())
	require.Equal(t, []string{"seckill_ready 1"}, metrics(t, reg, "seckill_ready"))
	require.Equal(t, about, metrics(t, reg, "seckill_redis"))

	s.health, s.err = seckill.RedisHealth{}, seckill.Unavailable
	stores.Look(t.Context())
	require.Equal(t, []string{"seckill_ready 0"}, metrics(t, reg, "seckill_ready"))
	require.Equal(t, about, metrics(t, reg, "seckill_redis"), "what is not known is not zero")
}

func TestGate(t *testing.T) {
	reg := prometheus.NewRegistry()
	now := obs.Gate{WaitingMax: 4096, Live: true}
	obs.NewGate(reg, func() obs.Gate { return now })
	now.Waiting, now.Trips, now.Sent = 5, 2, 64
	require.Subset(t, metrics(t, reg, "seckill_"), []string{
		"seckill_admit_in_flight 5", "seckill_admit_in_flight_max 4096", "seckill_memory_live 1",
		"seckill_admit_trips_total 2", "seckill_admit_sent_total 64",
	})
}
