package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Pauses between two looks for the node that serves a partition.
const (
	routePause    = 2 * time.Millisecond
	routePauseMax = 100 * time.Millisecond
)

// stop is the server that one trip goes to.
type stop struct {
	node   *redis.Client
	asking bool // the slot is on its way to it: each command has to say that it knows
}

// home is the server that has the keys of partition p, as far as this process knows.
func (s *Store) home(ctx context.Context, p int) (stop, error) {
	node, err := s.nodeOf(ctx, s.keys.stream(p))
	return stop{node: node}, err
}

// nodeOf is the client of the one server that has a key.
func (s *Store) nodeOf(ctx context.Context, key string) (*redis.Client, error) {
	switch db := s.db.(type) {
	case *redis.Client:
		return db, nil
	case *redis.ClusterClient:
		return db.MasterForKey(ctx, key)
	default:
		return nil, fmt.Errorf("no client of one server in %T", db)
	}
}

// master is the client of the one server that has the keys of a voucher.
func (s *Store) master(ctx context.Context, v seckill.VoucherID) (*redis.Client, error) {
	return s.nodeOf(ctx, s.keys.voucher(v))
}

// elsewhere reports whether a cluster's node says that another one serves the key, or that
// nobody does for the moment. The command did nothing.
func elsewhere(err error) bool {
	for _, word := range []string{"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"} {
		if hasPrefix(err, word) {
			return true
		}
	}
	return false
}

// follow finds the next server to try after one refused a trip of partition p as elsewhere.
// It waits before every try but the first, in case the nodes send one back and forth; when
// ctx ends that refusal is the answer.
func (s *Store) follow(ctx context.Context, p, tries int, refusal error) (stop, error) {
	addr, moved := redis.IsMovedError(refusal)
	asked, asking := redis.IsAskError(refusal)
	if tries > 0 || !moved && !asking {
		if !pause(ctx, jitter(min(routePause<<min(tries, 10), routePauseMax))) {
			return stop{}, refusal
		}
	}
	if asking {
		addr = asked
	}
	if node := s.nodeAt(ctx, addr); node != nil {
		return stop{node, asking}, nil
	}
	return s.home(ctx, p)
}

// nodeAt is the client of the cluster's node at an address, nil if none is known.
func (s *Store) nodeAt(ctx context.Context, addr string) (found *redis.Client) {
	cluster, ok := s.db.(*redis.ClusterClient)
	if !ok || addr == "" {
		return nil
	}
	nodes := make(chan *redis.Client, 1)
	_ = cluster.ForEachShard(ctx, func(_ context.Context, node *redis.Client) error {
		if strings.EqualFold(node.Options().Addr, addr) {
			nodes <- node
		}
		return nil
	})
	select {
	case found = <-nodes:
	default:
	}
	return found
}
