// Package process runs the programs as they are shipped, as children of a test. It is for
// tests alone.
package process

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/sqltest"
)

// Main builds both programs with further flags of `go build`, says where they are, runs the
// tests of a package, and returns their exit code.
func Main(ctx context.Context, m *testing.M, bin *string, flags ...string) int {
	dir, err := os.MkdirTemp("", "seckill-programs")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := share(ctx, dir, flags); err != nil {
		panic(err)
	}
	*bin = dir
	return sqltest.Main(m)
}

// share builds both programs where every package does, in turn, and copies them to dir: go
// links only what is not up to date, and a build in the middle of the tests changes nothing.
func share(ctx context.Context, dir string, flags []string) error {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	shared := filepath.Join(filepath.Dir(string(mod)), ".cache", "programs"+strings.Join(flags, ""))
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return err
	}
	turn, err := os.Open(shared)
	if err != nil {
		return err
	}
	defer turn.Close() // which ends it
	if err := syscall.Flock(int(turn.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if err := Build(ctx, shared, flags...); err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(shared))
}

// Build builds both programs into dir, with further flags of `go build`.
func Build(ctx context.Context, dir string, flags ...string) error {
	args := append([]string{"build", "-tags", "nomsgpack", "-o", dir}, flags...)
	const module = "github.com/openseckill/seckill/"
	out, err := exec.CommandContext(ctx, "go", append(args, module+"api", module+"worker")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s%w", out, err)
	}
	return nil
}

// Process is one run of a program.
type Process struct {
	HTTP string // where an api serves buyers, "127.0.0.1:40001"
	Ops  string // where a program serves operators
	cmd  *exec.Cmd
	out  Lines
	done chan struct{}
	err  error
}

// New prepares a run of dir's program, args[0], with what the environment and env say. It
// serves on addresses of its own, and is killed when ctx ends.
func New(ctx context.Context, dir string, args, env []string) *Process {
	p := &Process{HTTP: faultnet.FreeAddr(), Ops: faultnet.FreeAddr(), done: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, filepath.Join(dir, args[0]), args[1:]...)
	p.cmd.Env = append(append(os.Environ(), "SECKILL_HTTP_ADDR="+p.HTTP, "SECKILL_OPS_ADDR="+p.Ops), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p
}

// Start begins the run, which ends with this process at the latest.
func (p *Process) Start() error {
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
	return <-started
}

// Started reports whether Start was called.
func (p *Process) Started() bool { return p.cmd.Process != nil }

// Ready waits until the program says that it serves.
func (p *Process) Ready(ctx context.Context) error {
	const every = 5 * time.Millisecond
	poll := time.NewTicker(every)
	defer poll.Stop()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%v ended at start: %w\n%s", p.cmd.Args, p.err, &p.out)
		case <-ctx.Done():
			return fmt.Errorf("%v is not ready: %w\n%s", p.cmd.Args, context.Cause(ctx), &p.out)
		case <-poll.C:
			if p.isReady(ctx) {
				return nil
			}
		}
	}
}

func (p *Process) isReady(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Ops+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Signal sends a signal to the process.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill ends the process as a crash does, and returns once it is gone. It may have ended.
func (p *Process) Kill() {
	if p.Started() {
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is what the process ended with, once it has.
func (p *Process) Err() error { return p.err }

// Output is what the process has written so far.
func (p *Process) Output() string { return p.out.String() }

// Lines keeps what a process wrote, while it writes.
type Lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// String is all of it so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
