package chaos

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
)

const masterName = "sale"

// sentinels are a master with two replicas and three sentinels that watch it.
type sentinels struct {
	servers []*redistest.Server
	addrs   []string // of the sentinels
}

func newSentinels(t *testing.T) *sentinels {
	s := &sentinels{}
	for i := range 3 {
		o := redistest.Options{TCP: true, AOF: "everysec", Dir: t.TempDir(), Args: []string{"--repl-diskless-sync-delay", "0"}}
		if i > 0 {
			host, port, _ := net.SplitHostPort(s.servers[0].Addr())
			o.Args = append(o.Args, "--replicaof", host+" "+port)
		}
		s.servers = append(s.servers, redistest.NewWith(t, o))
	}
	for range 3 {
		s.addrs = append(s.addrs, startSentinel(t, s.servers[0].Addr()))
	}
	client := s.client(t)
	require.True(t, until(t.Context(), time.Minute, func() bool {
		info := client.Info(t.Context(), "replication").Val()
		return strings.Count(info, "state=online") == 2 && s.agree(t)
	}), "no replication")
	return s
}

// agree asks whether each sentinel knows the others and the replicas: before that none can
// fail over.
func (s *sentinels) agree(t *testing.T) bool {
	for _, addr := range s.addrs {
		c := redis.NewSentinelClient(&redis.Options{Addr: addr})
		m, err := c.Master(t.Context(), masterName).Result()
		_ = c.Close()
		if err != nil || m["num-other-sentinels"] != "2" || m["num-slaves"] != "2" {
			return false
		}
	}
	return true
}

func startSentinel(t *testing.T, master string) (addr string) {
	addr = freeAddr()
	host, port, _ := net.SplitHostPort(master)
	_, own, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	path := filepath.Join(dir, "sentinel.conf")
	config := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %s\nsentinel monitor %s %s %s 2\n"+
		"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 3000\n", own, dir, masterName, host, port)
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	cmd := exec.Command("redis-server", path, "--sentinel")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return addr
}

func (s *sentinels) client(t *testing.T) redis.UniversalClient {
	c := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: s.addrs, MasterName: masterName, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// env are the settings by which a program finds the master. A replica must hold an order
// before it is accepted.
func (s *sentinels) env() []string {
	return []string{
		"SECKILL_REDIS_ADDRS=" + strings.Join(s.addrs, ","), "SECKILL_REDIS_MASTER=" + masterName,
		"SECKILL_REDIS_WAIT_REPLICAS=1",
	}
}

// master is the server that the sentinels take for it.
func (s *sentinels) master(w *world) (*redistest.Server, error) {
	for _, addr := range s.addrs {
		c := redis.NewSentinelClient(&redis.Options{Addr: addr})
		at, err := c.GetMasterAddrByName(w.pass(), masterName).Result()
		_ = c.Close()
		if err != nil {
			continue
		}
		for _, server := range s.servers {
			if server.Addr() == net.JoinHostPort(at[0], at[1]) {
				return server, nil
			}
		}
	}
	return nil, errors.New("no sentinel knows a master of ours")
}

// killMaster kills the master, and starts it again when another one has taken its place.
func (s *sentinels) killMaster(w *world, _ step) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	old, err := s.master(w)
	if err != nil {
		return err
	}
	if err := old.Kill(); err != nil {
		return err
	}
	moved := until(w.pass(), 20*time.Second, func() bool {
		now, err := s.master(w)
		return err == nil && now != old
	})
	w.tale.add(w.since(), "another master: %v", moved)
	return old.Restart()
}

// askForFailover has the sentinels change the master though it is well.
func (s *sentinels) askForFailover(w *world) error {
	w.redisMu.Lock()
	defer w.redisMu.Unlock()
	old, err := s.master(w)
	if err != nil {
		return err
	}
	c := redis.NewSentinelClient(&redis.Options{Addr: s.addrs[0]})
	defer c.Close()
	if err := c.Failover(w.pass(), masterName).Err(); err != nil {
		w.tale.add(w.since(), "no failover now: %v", err) // one is under way
		return nil
	}
	until(w.pass(), 20*time.Second, func() bool {
		now, err := s.master(w)
		return err == nil && now != old
	})
	return nil
}
