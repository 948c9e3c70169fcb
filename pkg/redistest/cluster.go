package redistest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

const (
	clusterSlots = 16384
	nodeAnswer   = 2 * time.Second // within which a node that runs says what it knows
)

// Cluster is a Redis Cluster. Its methods are for one goroutine.
type Cluster struct {
	Nodes []*Server // the masters at the start, then their replicas in the same order

	masters int
	ids     map[*Server]string
	clients map[*Server]*redis.Client
}

// NewCluster starts three masters with so many replicas each, all with the same options; see
// StartCluster. All of it ends with the test.
func NewCluster(t testing.TB, replicas int, o Options) *Cluster {
	t.Helper()
	c, err := StartCluster(t.Context(), 3, replicas, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// StartCluster starts masters with so many replicas each, all with the same options, and
// returns when every node serves and every replica follows. A slot whose master is gone does
// not stop the others; a master is taken for gone after two seconds of silence. Close ends it.
func StartCluster(ctx context.Context, masters, replicas int, o Options) (*Cluster, error) {
	c := &Cluster{masters: masters, ids: map[*Server]string{}, clients: map[*Server]*redis.Client{}}
	o.TCP = true
	o.Args = append([]string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no",
		"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
	}, o.Args...)
	c.Nodes = make([]*Server, masters*(1+replicas))
	var g errgroup.Group
	for i := range c.Nodes {
		g.Go(func() (err error) {
			c.Nodes[i], err = Start(o)
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		for _, n := range c.Nodes {
			c.clients[n] = n.Client()
		}
		err = c.join(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// Owner is the master that most nodes take for the one that serves a key's slot.
func (c *Cluster) Owner(ctx context.Context, key string) (*Server, error) {
	votes, asked := map[*Server]int{}, 0
	for _, n := range c.Nodes {
		if !n.answers() {
			continue
		}
		if owner, err := c.ownerBy(ctx, n, key); err == nil {
			votes[owner]++
		}
		asked++
	}
	for owner, n := range votes {
		if owner != nil && 2*n > asked {
			return owner, nil
		}
	}
	return nil, fmt.Errorf("redistest.Owner: the nodes do not agree on who serves %s", key)
}

// Failover kills the master of a key and returns it once every node that runs takes another
// one for the master. The dead one may be started again by Restart: it becomes a replica.
func (c *Cluster) Failover(ctx context.Context, key string) (dead *Server, err error) {
	if dead, err = c.Owner(ctx, key); err != nil {
		return nil, err
	}
	if err := dead.Kill(); err != nil {
		return nil, err
	}
	return dead, c.AwaitOtherThan(ctx, key, dead)
}

// AwaitOtherThan returns once every node that runs takes another than old for the master of
// a key.
func (c *Cluster) AwaitOtherThan(ctx context.Context, key string, old *Server) error {
	return await(ctx, "the master of "+key+" stays "+old.Addr(), func(ctx context.Context) bool {
		return c.all(func(n *Server) bool {
			owner, err := c.ownerBy(ctx, n, key)
			return err == nil && owner != nil && owner != old
		})
	})
}

// join makes one cluster of the nodes.
func (c *Cluster) join(ctx context.Context) error {
	for i, n := range c.Nodes {
		id, err := c.clients[n].Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			return err
		}
		c.ids[n] = id
		// Epochs that differ from the start need not be made to differ by an election.
		if err := c.clients[n].Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
		if i < c.masters {
			from, to := i*clusterSlots/c.masters, (i+1)*clusterSlots/c.masters-1
			err = c.clients[n].ClusterAddSlotsRange(ctx, from, to).Err()
		}
		if err != nil {
			return err
		}
	}
	if err := c.meet(ctx); err != nil {
		return err
	}
	for i, n := range c.Nodes[c.masters:] {
		if err := c.clients[n].ClusterReplicate(ctx, c.ids[c.Nodes[i%c.masters]]).Err(); err != nil {
			return err
		}
	}
	return await(ctx, "the cluster does not come up", func(ctx context.Context) bool { return c.all(func(n *Server) bool { return c.serves(ctx, n) }) })
}

// meet introduces each node to all others: by hearsay alone it takes seconds.
func (c *Cluster) meet(ctx context.Context) error {
	for i, n := range c.Nodes {
		for _, other := range c.Nodes[:i] {
			host, port, _ := strings.Cut(other.Addr(), ":")
			if err := c.clients[n].ClusterMeet(ctx, host, port).Err(); err != nil {
				return err
			}
		}
	}
	return await(ctx, "the nodes do not know each other", func(ctx context.Context) bool {
		return c.all(func(n *Server) bool {
			known := c.clients[n].ClusterNodes(ctx).Val()
			return !strings.Contains(known, "handshake") && !slices.ContainsFunc(c.Nodes, func(o *Server) bool { return !strings.Contains(known, c.ids[o]) })
		})
	})
}

// serves reports whether a node takes the cluster for complete, its replicas included.
func (c *Cluster) serves(ctx context.Context, n *Server) bool {
	state, role := c.clients[n].ClusterInfo(ctx).Val(), c.clients[n].Info(ctx, "replication").Val()
	replicas := len(c.Nodes)/c.masters - 1
	return strings.Contains(state, "cluster_state:ok") && strings.Contains(state, fmt.Sprintf("cluster_size:%d\r", c.masters)) &&
		strings.Count(c.clients[n].ClusterNodes(ctx).Val(), "slave") == replicas*c.masters &&
		(strings.Contains(role, "master_link_status:up") || strings.Count(role, "state=online") == replicas)
}

// ownerBy is the master of a key as one node sees it, nil where it sees none.
func (c *Cluster) ownerBy(ctx context.Context, by *Server, key string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, nodeAnswer)
	defer cancel()
	slot, err := c.clients[by].ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	ranges, err := c.clients[by].ClusterSlots(ctx).Result() //nolint:staticcheck // SHARDS lists dead masters, too; SLOTS says who serves
	if err != nil {
		return nil, err
	}
	for _, r := range ranges {
		if int(slot) >= r.Start && int(slot) <= r.End {
			for _, n := range c.Nodes {
				if n.Addr() == r.Nodes[0].Addr {
					return n, nil
				}
			}
		}
	}
	return nil, nil
}

// all reports whether every node that can answer does as is asked.
func (c *Cluster) all(is func(*Server) bool) bool {
	return !slices.ContainsFunc(c.Nodes, func(n *Server) bool { return n.answers() && !is(n) })
}

// Close kills all nodes and removes what they wrote.
func (c *Cluster) Close() error {
	var errs []error
	for _, client := range c.clients {
		errs = append(errs, client.Close())
	}
	for _, n := range c.Nodes {
		if n != nil {
			errs = append(errs, n.Close())
		}
	}
	return errors.Join(errs...)
}
