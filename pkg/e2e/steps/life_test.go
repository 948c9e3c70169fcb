package steps

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

const patient = time.Minute // for what takes milliseconds on a machine that is not busy

// life is one process of ours, from its start to its end.
type life struct {
	stage   *stage
	cmd     *exec.Cmd
	http    string // base address of an api
	ops     string
	out     *lines
	done    chan struct{}
	err     error // of its end
	record  *record
	proxies []*faultnet.Proxy
}

// live starts a process whose ways lead through proxies that keep a record.
func (s *stage) live(args ...string) *life {
	s.t.Helper()
	l := &life{stage: s, http: freeAddr(s.t), ops: freeAddr(s.t), out: &lines{}, done: make(chan struct{}), record: newRecord()}
	redis, sql := faultnet.New(s.whole, s.server.Addr()), faultnet.New(s.whole, s.config().Addr)
	redis.Watch(toRedis{l.record})
	sql.Watch(toSQL{l.record})
	l.proxies = []*faultnet.Proxy{redis, sql}
	c := s.config()
	c.Net, c.Addr = "tcp", sql.Addr()
	l.cmd = exec.Command(filepath.Join(bin, args[0]), args[1:]...)
	l.cmd.Env = append(append(os.Environ(), hurried...),
		"SECKILL_REDIS_ADDRS="+redis.Addr(), "SECKILL_MYSQL_DSN="+c.FormatDSN(), "SECKILL_HTTP_ADDR="+l.http, "SECKILL_OPS_ADDR="+l.ops)
	l.cmd.Stdout, l.cmd.Stderr = l.out, l.out
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return l
}

// start runs the process, which dies with this test binary.
func (l *life) start() {
	l.stage.t.Helper()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal belongs to the thread that forks
		err := l.cmd.Start()
		started <- err
		if err == nil {
			l.err = l.cmd.Wait()
			close(l.done)
		}
	}()
	require.NoError(l.stage.t, <-started)
}

// ready waits until a program serves.
func (l *life) ready() {
	l.stage.t.Helper()
	require.Eventually(l.stage.t, func() bool {
		select {
		case <-l.done:
			l.stage.t.Fatalf("%v ended at start: %v\n%s", l.cmd.Args, l.err, l.out)
		default:
		}
		resp, err := http.Get("http://" + l.ops + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, patient, 5*time.Millisecond, "not ready: %s", l.out)
}

// signal sends a signal to the process.
func (l *life) signal(sig syscall.Signal) {
	l.stage.t.Helper()
	require.NoError(l.stage.t, l.cmd.Process.Signal(sig))
}

// crash kills the process and then cuts its ways: what was kept back is lost.
func (l *life) crash() {
	l.stage.t.Helper()
	_ = l.cmd.Process.Kill() // it may have ended
	l.ends()
	for _, p := range l.proxies {
		p.Refuse()
	}
}

// ends waits for the end of the process.
func (l *life) ends() {
	l.stage.t.Helper()
	select {
	case <-l.done:
	case <-time.After(patient):
		require.FailNow(l.stage.t, "it does not end", "%v: %s", l.cmd.Args, l.out)
	}
}

// dies waits for the death that its record is armed with, and lets it happen.
func (l *life) dies(d death) {
	l.stage.t.Helper()
	select {
	case <-l.record.reached:
	case <-time.After(patient):
		require.FailNow(l.stage.t, "the step never came", "%s; there were %v\n%s", d, l.record.list(), l.out)
	}
	l.crash()
}

// lines keeps what a process wrote, while it writes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
