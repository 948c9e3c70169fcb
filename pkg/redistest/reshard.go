package redistest

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// migrateTime is how many milliseconds a node may be silent while it takes keys over.
const migrateTime = 5000

// Move is a resharding under way: one slot goes from a master to another one, in steps, as
// an operator's tools do it. Between the steps the old master sends whoever asks for a key
// that has left to the new one (ASK), and refuses what needs keys of both (TRYAGAIN).
type Move struct {
	cluster  *Cluster
	slot     int64
	from, to *Server
}

// BeginMove lets the new master take keys of the slot of a key, and the old one give them.
// No key has moved yet.
func (c *Cluster) BeginMove(ctx context.Context, key string, to *Server) (*Move, error) {
	from, err := c.Owner(ctx, key)
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, fmt.Errorf("redistest.BeginMove: %s serves %s already", to.Addr(), key)
	}
	m := &Move{cluster: c, from: from, to: to}
	if m.slot, err = c.clients[from].ClusterKeySlot(ctx, key).Result(); err != nil {
		return nil, err
	}
	return m, errors.Join(m.set(ctx, to, "IMPORTING", from), m.set(ctx, from, "MIGRATING", to))
}

// Take moves up to n keys, whichever come first. None: all that there were have moved.
func (m *Move) Take(ctx context.Context, n int) (moved int, err error) {
	keys, err := m.cluster.clients[m.from].ClusterGetKeysInSlot(ctx, int(m.slot), n).Result()
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	host, port, _ := strings.Cut(m.to.Addr(), ":")
	args := []any{"MIGRATE", host, port, "", 0, migrateTime, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	return len(keys), m.cluster.clients[m.from].Do(ctx, args...).Err()
}

// End moves what is left and makes the new master the owner: first for itself, so that at
// no moment nobody is, and last for those whom it does not concern.
func (m *Move) End(ctx context.Context) error {
	const some = 100
	for {
		if n, err := m.Take(ctx, some); err != nil {
			return err
		} else if n == 0 {
			break
		}
	}
	masters := []*Server{m.to, m.from}
	for _, n := range m.cluster.Nodes {
		if n != m.to && n != m.from && n.answers() && strings.Contains(m.cluster.clients[n].Info(ctx, "replication").Val(), "role:master") {
			masters = append(masters, n)
		}
	}
	for _, n := range masters {
		if err := m.set(ctx, n, "NODE", m.to); err != nil {
			return err
		}
	}
	return nil
}

// Move gives the slot of a key to another master, all steps at once.
func (c *Cluster) Move(ctx context.Context, key string, to *Server) error {
	m, err := c.BeginMove(ctx, key, to)
	if err != nil {
		return err
	}
	return m.End(ctx)
}

func (m *Move) set(ctx context.Context, on *Server, what string, whom *Server) error {
	return m.cluster.clients[on].Do(ctx, "CLUSTER", "SETSLOT", m.slot, what, m.cluster.ids[whom]).Err()
}
