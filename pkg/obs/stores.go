package obs

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/seckill"
)

// lookMax is how long a store may take to say how it is.
const lookMax = 2 * time.Second

// redis is the store of a sale; see redisstore.Store.
type redis interface {
	Pools() []seckill.Pool
	Health(ctx context.Context) (seckill.RedisHealth, error)
}

// sql is the database of a sale; see sqlstore.Store.
type sql interface{ Pool() seckill.Pool }

// Stores are the metrics of what a program stands on: whether it is ready, its
// connections, and what Redis says of itself.
type Stores struct {
	redis redis
	ready func(context.Context) error

	up, evicts, inMemory, saveFailed prometheus.Gauge
	memory, memoryMax, replicas      prometheus.Gauge
}

// NewStores registers the metrics with r; a second time on one registry panics. The use of
// connections is read when somebody asks, the rest by Look.
func NewStores(r prometheus.Registerer, redis redis, sql sql, ready func(context.Context) error) *Stores {
	registered(r, &pools{func() []seckill.Pool { return append(redis.Pools(), sql.Pool()) }})
	return &Stores{
		redis: redis, ready: ready,
		up:         newGauge(r, "seckill_ready", "Whether this program found itself ready when it looked last: 1, or 0."),
		evicts:     newGauge(r, "seckill_redis_evicts", "Whether Redis drops keys when its memory is full: 1, or 0. It must not."),
		inMemory:   newGauge(r, "seckill_redis_in_memory", "Whether Redis appends its changes to no file, so that it forgets accepted orders when it dies: 1, or 0."),
		saveFailed: newGauge(r, "seckill_redis_save_failed", "Whether the last write of Redis to its file, or its last snapshot, failed: 1, or 0."),
		memory:     newGauge(r, "seckill_redis_memory_bytes", "Memory that Redis uses; of a cluster, the master that is nearest to its limit."),
		memoryMax:  newGauge(r, "seckill_redis_memory_max_bytes", "Memory that Redis may use; 0: no limit."),
		replicas:   newGauge(r, "seckill_redis_replicas", "Replicas that follow Redis; of a cluster, the master that has the fewest."),
	}
}

// Look finds out how the stores are. Of one that does not answer the numbers stay; that it
// does not is what seckill_ready says.
func (s *Stores) Look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	s.up.Set(flag(s.ready(ctx) == nil))
	h, err := s.redis.Health(ctx)
	if err != nil {
		return
	}
	s.evicts.Set(flag(h.Evicts))
	s.inMemory.Set(flag(h.InMemory))
	s.saveFailed.Set(flag(h.SaveFailed))
	s.memory.Set(float64(h.Memory))
	s.memoryMax.Set(float64(h.MemoryMax))
	s.replicas.Set(float64(h.Replicas))
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

var (
	poolUsed  = prometheus.NewDesc("seckill_pool_connections", "Connections to a store that somebody uses now.", []string{"pool"}, nil)
	poolMax   = prometheus.NewDesc("seckill_pool_connections_max", "How many connections to a store there may be.", []string{"pool"}, nil)
	poolWaits = prometheus.NewDesc("seckill_pool_waits_total", "How often somebody found no connection free, and waited.", []string{"pool"}, nil)
)

// pools shows connections, used and capacity.
type pools struct{ read func() []seckill.Pool }

// Describe implements prometheus.Collector.
func (p *pools) Describe(to chan<- *prometheus.Desc) {
	to <- poolUsed
	to <- poolMax
	to <- poolWaits
}

// Collect implements prometheus.Collector.
func (p *pools) Collect(to chan<- prometheus.Metric) {
	for _, pool := range p.read() {
		to <- prometheus.MustNewConstMetric(poolUsed, prometheus.GaugeValue, float64(pool.Used), pool.Name)
		to <- prometheus.MustNewConstMetric(poolMax, prometheus.GaugeValue, float64(pool.Max), pool.Name)
		to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(pool.Waits), pool.Name)
	}
}
