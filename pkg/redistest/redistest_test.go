package redistest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
)

func TestStart(t *testing.T) {
	tests := []struct {
		name string
		o    redistest.Options
	}{
		{"unix socket", redistest.Options{}},
		{"loopback port", redistest.Options{TCP: true}},
		{"password of its own", redistest.Options{Args: []string{"--requirepass", "x"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.NewWith(t, tt.o)
			err := s.ClientOf(t).Ping(t.Context()).Err()
			if len(tt.o.Args) > 0 {
				require.ErrorContains(t, err, "NOAUTH")
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestStartFails(t *testing.T) {
	t.Run("with the server's own words for a wrong argument", func(t *testing.T) {
		_, err := redistest.Start(redistest.Options{Args: []string{"--no-such-setting", "1"}})
		require.ErrorContains(t, err, "no-such-setting")
	})
	t.Run("with what to install where there is no redis-server", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := redistest.Start(redistest.Options{})
		require.ErrorContains(t, err, "apt-get install redis-server")
		require.ErrorIs(t, err, exec.ErrNotFound)
	})
}

func TestStartWithLongTempDir(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), strings.Repeat("long", 30)))
	require.NoError(t, redistest.Client(t).Ping(t.Context()).Err())
}

func TestRestart(t *testing.T) {
	tests := []struct {
		name string
		aof  string
		end  func(*redistest.Server) error
		kept bool
	}{
		{"stopped without a file forgets", "", (*redistest.Server).Stop, false},
		{"stopped with a file keeps", "everysec", (*redistest.Server).Stop, true},
		{"killed with fsync always keeps", "always", (*redistest.Server).Kill, true},
		{"still running is stopped first", "everysec", func(*redistest.Server) error { return nil }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.NewWith(t, redistest.Options{TCP: true, AOF: tt.aof})
			addr, c := s.Addr(), s.ClientOf(t)
			require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
			require.NoError(t, tt.end(s))
			require.NoError(t, s.Restart())
			require.Equal(t, addr, s.Addr())
			n, err := s.ClientOf(t).Exists(t.Context(), "k").Result()
			require.NoError(t, err)
			require.Equal(t, tt.kept, n == 1)
		})
	}
}

func TestClose(t *testing.T) {
	dir := t.TempDir()
	s, err := redistest.Start(redistest.Options{Dir: dir, AOF: "always"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "a second time")
	_, err = net.Dial("unix", s.Addr())
	require.Error(t, err)
	require.NoDirExists(t, filepath.Dir(s.Addr()))
	require.DirExists(t, filepath.Join(dir, "appendonlydir"), "the caller's directory stays")
}

// TestDieWithParent runs this test again as a child that starts a server and is killed.
func TestDieWithParent(t *testing.T) {
	const file = "REDISTEST_CHILD_FILE"
	if path := os.Getenv(file); path != "" {
		s, err := redistest.Start(redistest.Options{})
		require.NoError(t, err)
		pid := s.ClientOf(t).InfoMap(t.Context(), "server").Val()["Server"]["process_id"]
		require.NoError(t, os.WriteFile(path+".new", []byte(pid), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
		select {} // until the parent kills us
	}
	path := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0], "-test.run=^TestDieWithParent$")
	cmd.Env = append(os.Environ(), file+"="+path, "TMPDIR="+t.TempDir())
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return gone(pid) }, time.Minute, 10*time.Millisecond)
}

// gone reports whether the process ended; a zombie that nobody has waited for has.
func gone(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestDump(t *testing.T) {
	c := redistest.Client(t)
	ctx := t.Context()
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "string", "a\nb", time.Hour)
		p.RPush(ctx, "list", "2", "1")
		p.SAdd(ctx, "set", "b", "a", "3")
		p.HSet(ctx, "hash", "f2", "v2", "f1", "v1")
		p.ZAdd(ctx, "zset", redis.Z{Score: 2, Member: "b"}, redis.Z{Score: 1.5, Member: "a"})
		p.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "1-1", Values: []string{"id", "7", "userId", "42"}})
		p.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "1-2", Values: []string{"id", "8"}})
		p.XGroupCreate(ctx, "stream", "g", "0")
		p.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "c", Streams: []string{"stream", ">"}, Count: 1, Block: -1})
		return nil
	})
	require.NoError(t, err)

	require.Equal(t, map[string]string{
		"string": "string with ttl\n\"a\\nb\"",
		"list":   "list\n\"2\"\n\"1\"",
		"set":    "set\n\"3\"\n\"a\"\n\"b\"",
		"hash":   "hash\n\"f1\" = \"v1\"\n\"f2\" = \"v2\"",
		"zset":   "zset\n\"a\" = 1.5\n\"b\" = 2",
		"stream": `stream
last 1-2, deleted 0-0, added 2
entry 1-1 map["id":"7" "userId":"42"]
entry 1-2 map["id":"8"]
group "g" at 1-1, read 1
group "g" consumer "c"
group "g" pending 1-1 of "c", delivered 1`,
	}, redistest.Dump(t, c))
}

func TestWatchedFailsOver(t *testing.T) {
	t.Parallel()
	w := redistest.NewWatched(t, 1, redistest.Options{})
	old := w.Servers[0].ClientOf(t)
	require.NoError(t, old.Set(t.Context(), "a", "1", 0).Err())
	require.EqualValues(t, 1, old.Wait(t.Context(), 1, time.Minute).Val())
	require.NoError(t, w.Failover(t.Context()))
	now, err := w.Master(t.Context())
	require.NoError(t, err)
	require.Equal(t, w.Servers[1], now)
	require.Equal(t, "1", now.ClientOf(t).Get(t.Context(), "a").Val())
}
