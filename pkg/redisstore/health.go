package redisstore

import (
	"context"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Usage is how much a Store has to do, and how much it may have.
type Usage struct {
	Queue         int    // admissions that wait for a trip, in the partition where most do
	QueueMax      int    // how many may, in each
	Trips         uint64 // to Redis with admissions, since the start
	Sent          uint64 // admissions that went with them
	ReplicaMisses uint64 // acceptances that too few replicas held in time
	LocksLost     uint64 // leases that ended because a lock was lost
}

// Usage reads it, for a metric: the numbers are not of one moment.
func (s *Store) Usage() (u Usage) {
	u.LocksLost = s.locksLost.Load()
	for _, b := range s.batches {
		b.mu.Lock()
		u.Queue, u.QueueMax = max(u.Queue, len(b.queue)), b.queueMax
		b.mu.Unlock()
		u.Trips += b.trips.Load()
		u.Sent += b.sent.Load()
		u.ReplicaMisses += b.misses.Load()
	}
	return u
}

// Pools tells the use of the connections for commands and of those for blocking reads. Of
// a cluster they are those to all nodes that Health saw last.
func (s *Store) Pools() []seckill.Pool {
	return []seckill.Pool{s.pool("redis", s.db), s.pool("redis_reads", s.reader)}
}

func (s *Store) pool(name string, c redis.UniversalClient) seckill.Pool {
	stats, size := c.PoolStats(), 0
	switch c := c.(type) {
	case *redis.Client:
		size = c.Options().PoolSize
	case *redis.ClusterClient:
		size = c.Options().PoolSize * max(1, int(s.masters.Load()))
	}
	return seckill.Pool{
		Name: name, Used: int64(stats.TotalConns) - int64(stats.IdleConns), Max: int64(size), Waits: uint64(stats.WaitCount),
	}
}

// Health asks every master how it is. What a server does not tell counts as good.
func (s *Store) Health(ctx context.Context) (h seckill.RedisHealth, err error) {
	var mu sync.Mutex
	var masters int64
	ask := func(ctx context.Context, c *redis.Client) error {
		text, err := c.Info(ctx).Result()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if masters++; masters == 1 {
			h = health(text)
		} else {
			h = worse(h, health(text))
		}
		return nil
	}
	switch db := s.db.(type) {
	case *redis.Client:
		err = ask(ctx, db)
	case *redis.ClusterClient:
		err = db.ForEachMaster(ctx, ask)
	}
	if err == nil {
		s.masters.Store(masters)
	}
	return h, fault("redisstore.Health", err)
}

// health reads what INFO says of one server.
func health(text string) seckill.RedisHealth {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(infoField(text, name), 10, 64)
		return n
	}
	is := func(name string, bad func(value string) bool) bool {
		value := infoField(text, name)
		return value != "" && bad(value)
	}
	failed := func(value string) bool { return value != "ok" }
	return seckill.RedisHealth{
		Evicts:     is("maxmemory_policy", func(policy string) bool { return policy != "noeviction" }),
		InMemory:   is("aof_enabled", func(on string) bool { return on != "1" }),
		SaveFailed: is("aof_last_write_status", failed) || is("rdb_last_bgsave_status", failed),
		Memory:     number("used_memory"),
		MemoryMax:  number("maxmemory"),
		Replicas:   number("connected_slaves"),
	}
}

// worse joins what two masters say.
func worse(a, b seckill.RedisHealth) seckill.RedisHealth {
	near := a
	if fullness(b) > fullness(a) {
		near = b
	}
	return seckill.RedisHealth{
		Evicts: a.Evicts || b.Evicts, InMemory: a.InMemory || b.InMemory, SaveFailed: a.SaveFailed || b.SaveFailed,
		Memory: near.Memory, MemoryMax: near.MemoryMax, Replicas: min(a.Replicas, b.Replicas),
	}
}

// fullness is the part of its memory that a server uses; 0: it has no limit.
func fullness(h seckill.RedisHealth) float64 {
	if h.MemoryMax == 0 {
		return 0
	}
	return float64(h.Memory) / float64(h.MemoryMax)
}
