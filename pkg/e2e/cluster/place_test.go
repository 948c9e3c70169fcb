package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/redistest"
)

const partitions = 12 // four for each master of the cluster

// place is a Redis of several servers, and how programs find it.
type place struct {
	env        []string
	rdb        redis.UniversalClient
	partitions int
}

// keeps says which orders a fault may not take.
type keeps int

const (
	nothing    keeps = iota
	replicated       // those that a replica holds
	everything
)

// fault is something that befalls a place while it sells, and strikes where a partition is.
type fault struct {
	name   string
	keeps  keeps
	harms  bool // nobody sells there until another server takes over
	strike func(ctx context.Context, p int) (*blow, error)
}

// blow is a fault that has struck.
type blow struct {
	at     time.Time
	struck map[int]bool                    // partitions
	mend   func(ctx context.Context) error // what comes later, while the sale goes on
}

// nodes is a cluster and what can befall it.
type nodes struct{ *redistest.Cluster }

func newNodes(t *testing.T) (nodes, *place) {
	c := redistest.NewCluster(t, 1, redistest.Options{})
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return nodes{c}, &place{
		env: []string{"SECKILL_REDIS_ADDRS=" + strings.Join(c.Addrs(), ","), fmt.Sprint("SECKILL_PARTITIONS=", partitions)},
		rdb: rdb, partitions: partitions,
	}
}

func keyOf(p int) string { return fmt.Sprintf("seckill:stream:{%d}", p) }

// blow prepares one on the master of a partition.
func (n nodes) blow(ctx context.Context, p int) (*redistest.Server, *blow, error) {
	master, err := n.Owner(ctx, keyOf(p))
	b := &blow{struck: map[int]bool{}, mend: func(context.Context) error { return nil }}
	for other := 0; other < partitions && err == nil; other++ {
		var owner *redistest.Server
		if owner, err = n.Owner(ctx, keyOf(other)); owner == master {
			b.struck[other] = true
		}
	}
	b.at = time.Now()
	return master, b, err
}

// reshard moves the slot of a partition to another master, key by key.
func (n nodes) reshard(ctx context.Context, p int) (*blow, error) {
	_, b, err := n.blow(ctx, p)
	if err != nil {
		return nil, err
	}
	elsewhere := 0
	for b.struck[elsewhere] {
		elsewhere++
	}
	to, err := n.Owner(ctx, keyOf(elsewhere))
	if err != nil {
		return nil, err
	}
	b.struck, b.at = map[int]bool{p: true}, time.Now()
	move, err := n.BeginMove(ctx, keyOf(p), to)
	for moved := 1; err == nil && moved > 0; {
		moved, err = move.Take(ctx, 1)
	}
	if err != nil {
		return nil, err
	}
	return b, move.End(ctx)
}

// kill ends the master of a partition, and brings it back as a replica once the sale goes on.
func (n nodes) kill(ctx context.Context, p int) (*blow, error) {
	dead, b, err := n.blow(ctx, p)
	if err != nil {
		return nil, err
	}
	b.mend = func(ctx context.Context) error { return errors.Join(dead.Restart(), follows(ctx, dead)) }
	_, err = n.Failover(ctx, keyOf(p))
	return b, err
}

// freeze lets the master of a partition stand still until another one has taken over. When
// it wakes, it believes that it still is the master.
func (n nodes) freeze(ctx context.Context, p int) (*blow, error) {
	old, b, err := n.blow(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := old.Pause(); err != nil {
		return nil, err
	}
	b.mend = func(ctx context.Context) error { return follows(ctx, old) }
	return b, errors.Join(n.AwaitOtherThan(ctx, keyOf(p), old), old.Resume())
}

// empty lets the master of a partition forget everything, and its replica with it.
func (n nodes) empty(ctx context.Context, p int) (*blow, error) {
	master, b, err := n.blow(ctx, p)
	if err != nil {
		return nil, err
	}
	c := master.Client()
	defer c.Close()
	return b, c.FlushAll(ctx).Err()
}

// follows waits until a server is a replica that is up to date.
func follows(ctx context.Context, s *redistest.Server) error {
	c := s.Client()
	defer c.Close()
	return caller.Until(ctx, func() (bool, error) {
		text, err := c.Info(ctx, "replication").Result()
		return strings.Contains(text, "master_link_status:up"), err
	})
}

// newWatched is a master with a replica, and Sentinels.
func newWatched(t *testing.T) (*redistest.Watched, *place) {
	w := redistest.NewWatched(t, 1, redistest.Options{})
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: w.Sentinels, MasterName: redistest.MasterName, ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return w, &place{
		env: []string{"SECKILL_REDIS_ADDRS=" + strings.Join(w.Sentinels, ","), "SECKILL_REDIS_MASTER=" + redistest.MasterName},
		rdb: rdb,
	}
}

// failOver kills the master that Sentinels watch; its replica takes over.
func failOver(w *redistest.Watched) func(context.Context, int) (*blow, error) {
	return func(ctx context.Context, p int) (*blow, error) {
		b := &blow{at: time.Now(), struck: map[int]bool{p: true}, mend: func(context.Context) error { return nil }}
		return b, w.Failover(ctx)
	}
}
