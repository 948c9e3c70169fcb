// Package e2e runs both programs as they are shipped against real servers, and checks the
// law from outside: in the answers, in the tables and in Redis. It holds tests only.
package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret  = "an end-to-end secret of 32 bytes or more"
	patient = time.Minute // for what takes milliseconds on a machine that is not busy
)

var bin string // where the two programs are

// The programs are watched for races if the tests are.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", faultnet.Pick("4", "2")) // the short ones mostly wait
	var flags []string
	if raceEnabled {
		flags = append(flags, "-race")
	}
	os.Exit(process.Main(context.Background(), m, &bin, flags...))
}

// stack is one private Redis, one database, and programs that share them.
type stack struct {
	t      testing.TB
	server *redistest.Server
	dsn    string
	redis  *redis.Client
	db     *sql.DB
	env    []string
	api    string // base address
	client *http.Client
}

func newStack(t testing.TB) *stack {
	t.Helper()
	server, dsn := redistest.New(t), sqltest.New(t)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	transport := &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	return &stack{t: t, server: server, dsn: dsn, redis: server.ClientOf(t), db: db,
		env: append(os.Environ(),
			"SECKILL_REDIS_ADDRS="+server.Addr(), "SECKILL_MYSQL_DSN="+dsn, "SECKILL_JWT_SECRET="+secret,
			"SECKILL_RATE_PER_USER=0", "SECKILL_LOG_LEVEL=warn", "SECKILL_LOG_FORMAT=text", "GORACE=halt_on_error=1"),
		client: &http.Client{Transport: transport, Timeout: patient}}
}

// program is a running api or worker.
type program struct {
	t    testing.TB
	cmd  *exec.Cmd
	ops  string
	out  *process.Lines
	done chan struct{}
	err  error
}

// start runs a program with further settings, and returns when it is ready.
func (s *stack) start(name string, env ...string) *program {
	s.t.Helper()
	p := &program{t: s.t, ops: faultnet.FreeAddr(), out: &process.Lines{}, done: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(bin, name))
	p.cmd.Env = append(append(s.env, "SECKILL_OPS_ADDR="+p.ops), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal belongs to the thread that forks
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	require.NoError(s.t, <-started)
	s.t.Cleanup(func() {
		if p.running() {
			p.stop()
		}
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", name, p.out.String())
		}
	})
	require.Eventually(s.t, func() bool {
		if !p.running() {
			return true
		}
		resp, err := s.client.Get("http://" + p.ops + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, patient, 10*time.Millisecond, "%s is not ready", name)
	if !p.running() {
		require.FailNow(s.t, name+" ended at start", "%v\n%s", p.err, p.out)
	}
	return p
}

// startAPI runs an api; requests go to the one that was started last.
func (s *stack) startAPI(env ...string) *program {
	s.t.Helper()
	addr := faultnet.FreeAddr()
	p := s.start("api", append(env, "SECKILL_HTTP_ADDR="+addr)...)
	s.api = "http://" + addr
	return p
}

func (s *stack) startWorkers(n int, env ...string) (ps []*program) {
	s.t.Helper()
	for range n {
		ps = append(ps, s.start("worker", env...))
	}
	return ps
}

func (p *program) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop asks the program to end, and holds it to ending well.
func (p *program) stop() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.done:
		require.NoError(p.t, p.err, p.out.String())
	case <-time.After(patient):
		_ = p.cmd.Process.Kill()
		require.Fail(p.t, "the program ignored SIGTERM", p.out.String())
	}
}

// signal sends a signal to a program that runs.
func (p *program) signal(sig syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

// kill ends the program as a crash would, and returns once it is gone.
func (p *program) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.ends()
}

// ends waits for the end of the program, and returns what it ended with.
func (p *program) ends() error {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patient):
		require.Fail(p.t, "the program does not end", p.out.String())
	}
	return p.err
}

// says waits until the program has written text.
func (p *program) says(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.out.String(), text) }, patient, time.Millisecond, text)
}

// answer is an answer of the api, with its body as it came.
type answer struct {
	status int
	header http.Header
	body   string

	OrderID   string `json:"orderId"`
	VoucherID string `json:"voucherId"`
	UserID    string `json:"userId"`
	Status    any    `json:"status"` // text of an order, the number of a problem
	Reason    string `json:"reason"`
	Repeated  bool   `json:"repeated"`
	Code      string `json:"code"`
}

// call makes a request; an error means that no answer came.
func (s *stack) call(ctx context.Context, method, path, token, body string) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, method, s.api+path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	a.status, a.header, a.body = resp.StatusCode, resp.Header, string(b)
	if err := json.Unmarshal(b, &a); err != nil && len(b) > 0 && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		return a, fmt.Errorf("%s: %w", b, err)
	}
	return a, nil
}
