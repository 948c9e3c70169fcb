package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// inspect finds out what is at the addresses, and refuses what cannot serve. It adds the
// addresses of all masters of a cluster: a replica that was named does not take part.
func (s *Store) inspect(ctx context.Context, o Options) (found Options, cluster bool, err error) {
	refused := func(text string, args ...any) (Options, bool, error) {
		return o, cluster, &seckill.Error{Op: "redisstore.Open", Code: seckill.Invalid, Err: fmt.Errorf(text, args...)}
	}
	cluster, err = s.isCluster(ctx, o)
	switch {
	case err != nil:
		return o, cluster, err
	case cluster && o.Partitions == 0:
		return refused("this Redis is a cluster: set SECKILL_PARTITIONS to the number of partitions, for example 16; every program needs the same number")
	case cluster && o.DB != 0:
		return refused("SECKILL_REDIS_DB is %d, and this Redis is a cluster, which has only 0", o.DB)
	}
	probe := s.probe(o, cluster)
	defer func() { err = errors.Join(err, probe.Close()) }()
	masters, err := s.examine(ctx, probe)
	switch {
	case hasPrefix(err, "ERR This instance has cluster support disabled"):
		return refused("several addresses are those of a cluster, and this Redis is none: name one of SECKILL_REDIS_ADDRS, or set SECKILL_REDIS_MASTER if they are Sentinels")
	case hasPrefix(err, "ERR unknown command 'sentinel'"):
		return refused("SECKILL_REDIS_MASTER is %s, and this Redis is no Sentinel: name the Sentinels in SECKILL_REDIS_ADDRS, or leave SECKILL_REDIS_MASTER out", o.Master)
	case err == nil:
		err = s.settleOn(ctx, probe)
	}
	if cluster {
		o.Addrs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Addrs, masters))))
	}
	return o, cluster, err
}

// probe is a client for the questions of the start. It meets nobody: whether a server can be
// met is what is asked.
func (s *Store) probe(o Options, cluster bool) redis.UniversalClient {
	u := s.options(o, cluster, 1)
	u.OnConnect = nil
	return redis.NewUniversalClient(u)
}

func (s *Store) isCluster(ctx context.Context, o Options) (cluster bool, err error) {
	if o.Master != "" || len(o.Addrs) > 1 {
		return o.Master == "", nil
	}
	o.DB = 0 // a cluster has no other, and would not say what it is
	probe := s.probe(o, false)
	defer func() { err = errors.Join(err, probe.Close()) }()
	text, err := probe.Info(ctx).Result()
	return infoField(text, "cluster_enabled") == "1", fault("redisstore.Open", err)
}

// examine asks every master that answers whether it can serve, and notes what it may forget.
// It returns their addresses.
func (s *Store) examine(ctx context.Context, probe redis.UniversalClient) (masters []string, err error) {
	const op = "redisstore.Open"
	var mu sync.Mutex
	var silent []error
	err = eachMaster(ctx, probe, func(ctx context.Context, node *redis.Client) error {
		text, err := node.Info(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			silent = append(silent, err)
			return nil
		}
		if err := unfit(text); err != nil {
			return &seckill.Error{Op: op, Code: seckill.Invalid, Err: err}
		}
		masters = append(masters, node.Options().Addr)
		if s.forgets == "" {
			s.forgets = forgets(ctx, node, text)
		}
		return nil
	})
	if err == nil && len(masters) == 0 {
		err = errors.Join(silent...)
	}
	if seckill.CodeOf(err) == seckill.Invalid {
		return nil, err
	}
	return masters, fault(op, err)
}

// unfit says why the server that describes itself so cannot serve. What it does not tell, as
// one that is not quite a Redis may not, counts as good.
func unfit(text string) error {
	version, policy := infoField(text, "redis_version"), infoField(text, "maxmemory_policy")
	if major, _ := strconv.Atoi(strings.SplitN(version, ".", 2)[0]); version != "" && major < 7 {
		return fmt.Errorf("this Redis is %s: 7.0 is the oldest that tells which pending entries were lost", version)
	}
	if policy != "" && policy != "noeviction" {
		return fmt.Errorf("this Redis drops keys when its memory is full, and orders with them: its maxmemory-policy is %s and has to be noeviction", policy)
	}
	return nil
}
