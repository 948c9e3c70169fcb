package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// MasterName is what sentinels call their master.
const MasterName = "sale"

const (
	sentinelCount = 3
	watchLimit    = time.Minute // until all know of each other, or of another master
	watchPoll     = 20 * time.Millisecond
)

// Watched is a master with replicas, and three sentinels that agree on who the master is.
type Watched struct {
	Servers   []*Server // the first is the master at the start
	Sentinels []string  // their addresses
}

// NewWatched starts a master with so many replicas, all with the same options, and returns
// when its sentinels are able to fail over. All of it ends with the test.
func NewWatched(t testing.TB, replicas int, o Options) *Watched {
	t.Helper()
	w := &Watched{}
	o.TCP = true
	o.Args = append(o.Args[:len(o.Args):len(o.Args)], "--repl-diskless-sync-delay", "0")
	for i := range 1 + replicas {
		each := o
		if i > 0 {
			host, port, _ := net.SplitHostPort(w.Servers[0].Addr())
			each.Args = append(o.Args[:len(o.Args):len(o.Args)], "--replicaof", host+" "+port)
		}
		w.Servers = append(w.Servers, NewWith(t, each))
	}
	for range sentinelCount {
		w.Sentinels = append(w.Sentinels, startSentinel(t, w.Servers[0].Addr()))
	}
	master := w.Servers[0].ClientOf(t)
	require.Eventually(t, func() bool {
		info := master.Info(t.Context(), "replication").Val()
		return strings.Count(info, "state=online") == replicas && w.agree(t.Context(), replicas)
	}, watchLimit, watchPoll, "the sentinels do not know each other")
	return w
}

// agree asks whether each sentinel knows the others and the replicas: before that none can
// fail over.
func (w *Watched) agree(ctx context.Context, replicas int) bool {
	for _, addr := range w.Sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: addr})
		m, err := c.Master(ctx, MasterName).Result()
		_ = c.Close()
		if err != nil || m["num-other-sentinels"] != strconv.Itoa(sentinelCount-1) || m["num-slaves"] != strconv.Itoa(replicas) {
			return false
		}
	}
	return true
}

// Master is the server that the first sentinel takes for the master now, which answers.
func (w *Watched) Master(ctx context.Context) (*Server, error) {
	for _, addr := range w.Sentinels {
		if s := w.masterBy(ctx, addr); s != nil {
			return s, nil
		}
	}
	return nil, errors.New("redistest.Master: no sentinel knows a master of ours")
}

// masterBy is the master as one sentinel sees it, nil where it names none of ours.
func (w *Watched) masterBy(ctx context.Context, sentinel string) *Server {
	c := redis.NewSentinelClient(&redis.Options{Addr: sentinel})
	at, err := c.GetMasterAddrByName(ctx, MasterName).Result()
	_ = c.Close()
	if err != nil {
		return nil
	}
	for _, s := range w.Servers {
		if s.Addr() == net.JoinHostPort(at[0], at[1]) {
			return s
		}
	}
	return nil
}

// Agree waits until all sentinels name the same master. Before that, a client may be sent to
// one that came back and has yet to hear of its successor.
func (w *Watched) Agree(ctx context.Context) error {
	return await(ctx, "the sentinels do not agree on a master", func(ctx context.Context) bool {
		first := w.masterBy(ctx, w.Sentinels[0])
		return first != nil && !slices.ContainsFunc(w.Sentinels, func(addr string) bool { return w.masterBy(ctx, addr) != first })
	})
}

// await waits for what the servers do by themselves.
func await(ctx context.Context, what string, done func(ctx context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	poll := time.NewTicker(watchPoll)
	defer poll.Stop()
	for !done(ctx) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("redistest: %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

// Failover kills the master, waits until a sentinel names another one, and starts the old
// one again at once: for a moment it may be a master, too.
func (w *Watched) Failover(ctx context.Context) error {
	old, err := w.Master(ctx)
	if err != nil {
		return err
	}
	if err := old.Kill(); err != nil {
		return err
	}
	err = await(ctx, "the sentinels kept a dead master", func(ctx context.Context) bool {
		now, err := w.Master(ctx)
		return err == nil && now != old
	})
	if err != nil {
		return err
	}
	return old.Restart()
}

func startSentinel(t testing.TB, master string) (addr string) {
	t.Helper()
	addr = faultnet.FreeAddr()
	host, port, _ := net.SplitHostPort(master)
	_, own, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	path := filepath.Join(dir, "sentinel.conf")
	config := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %s\nsentinel monitor %s %s %s 2\n"+
		"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 3000\n", own, dir, MasterName, host, port)
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	c, err := spawn([]string{path, "--sentinel"}, filepath.Join(dir, "log"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.kill()) })
	return addr
}
