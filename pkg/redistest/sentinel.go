package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
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

// Master is the server that the sentinels take for the master now.
func (w *Watched) Master(ctx context.Context) (*Server, error) {
	for _, addr := range w.Sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: addr})
		at, err := c.GetMasterAddrByName(ctx, MasterName).Result()
		_ = c.Close()
		if err != nil {
			continue
		}
		for _, s := range w.Servers {
			if s.Addr() == net.JoinHostPort(at[0], at[1]) {
				return s, nil
			}
		}
	}
	return nil, errors.New("redistest.Master: no sentinel knows a master of ours")
}

// Failover kills the master, waits until another server is the master, and starts the old
// one again.
func (w *Watched) Failover(ctx context.Context) error {
	old, err := w.Master(ctx)
	if err != nil {
		return err
	}
	if err := old.Kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	poll := time.NewTicker(watchPoll)
	defer poll.Stop()
	for {
		if now, err := w.Master(ctx); err == nil && now != old {
			return old.Restart()
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("redistest.Failover: the sentinels kept a dead master: %w", context.Cause(ctx))
		}
	}
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
