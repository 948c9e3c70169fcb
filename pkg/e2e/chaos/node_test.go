package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/faultnet"
)

// node is one program, with a supervisor that starts it again whenever it ends.
type node struct {
	name       string // "api-1"
	program    string // path of its binary; "": it runs inside this process, see skewed
	env        []string
	http, ops  string // addresses; a worker has no http
	redis, sql *faultnet.Proxy
	skewed     *skewed

	mu    sync.Mutex
	cmd   *exec.Cmd      // nil while none runs
	asked syscall.Signal // by which the life that runs is to end; 0: it is not
	out   *process.Lines // of that life
	odd   []string       // what must not happen
	said  []string       // what its past lives wrote
}

const restartPause = 50 * time.Millisecond

// supervise runs one life after the other until ctx ends, on one thread: the death signal
// of a child belongs to the thread that forked it.
func (n *node) supervise(ctx context.Context) {
	runtime.LockOSThread()
	for ctx.Err() == nil {
		if n.skewed != nil {
			n.skewed.live(ctx)
		} else {
			n.live()
		}
		pause(ctx, restartPause)
	}
}

func (n *node) live() {
	out := &process.Lines{}
	cmd := exec.Command(n.program)
	cmd.Env, cmd.Stdout, cmd.Stderr = n.env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	n.mu.Lock()
	err := cmd.Start()
	n.cmd, n.asked, n.out = cmd, 0, out
	n.mu.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bury(err)
	n.cmd = nil
	n.said = append(n.said, out.String())
}

// bury judges how a life ended: who had begun to serve waits faults out, and ends well when told to.
func (n *node) bury(err error) {
	served := strings.Contains(n.out.String(), "msg=serving") || strings.Contains(n.out.String(), "msg=consuming")
	switch {
	case n.asked == 0 && served:
		n.odd = append(n.odd, fmt.Sprintf("%s ended by itself: %v", n.name, err))
	case n.asked == syscall.SIGTERM && served && err != nil:
		n.odd = append(n.odd, fmt.Sprintf("%s was told to stop, and ended with %v", n.name, err))
	}
}

// signal sends a signal to the program if it runs; an end that follows is expected.
func (n *node) signal(sig syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil || n.cmd.Process == nil {
		return
	}
	if sig == syscall.SIGKILL || sig == syscall.SIGTERM {
		n.asked = sig
	}
	_ = n.cmd.Process.Signal(sig) // it may just have ended
}

func (n *node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd != nil
}

// ready asks the program whether both stores answer it.
func (n *node) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.ops+"/readyz", nil)
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

// stop ends the program for good; its supervisor must have been ended before.
func (n *node) stop(ctx context.Context) {
	const patience = 25 * time.Second
	n.signal(syscall.SIGTERM)
	if !until(ctx, patience, func() bool { return !n.running() }) {
		n.signal(syscall.SIGKILL)
		n.mu.Lock()
		n.odd = append(n.odd, n.name+" ignored SIGTERM")
		n.mu.Unlock()
	}
}

// text is all that the program has written, life after life.
func (n *node) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := strings.Join(n.said, "")
	if n.cmd != nil && n.out != nil {
		all += n.out.String()
	}
	if n.skewed != nil {
		all += n.skewed.out.String()
	}
	return all
}

// bugs are lines that only a bug writes, and ends that only a bug has. Where Redis forgets
// nothing, that includes orders that a worker found which no worker would have read: nobody
// types XGROUP SETID or XACK here.
func (n *node) bugs(forgets bool) (found []string) {
	words := []string{"INTERNAL", "panic", "DATA RACE", `msg="a bug"`, "fatal error"}
	if !forgets {
		words = append(words, "nobody would have read")
	}
	text := n.text()
	n.mu.Lock()
	defer n.mu.Unlock()
	found = append(found, n.odd...)
	for line := range strings.Lines(text) {
		for _, word := range words {
			if strings.Contains(line, word) {
				found = append(found, n.name+": "+strings.TrimSpace(line))
				break
			}
		}
	}
	return found
}

// heal mends both of its ways.
func (n *node) heal() {
	for _, p := range []*faultnet.Proxy{n.redis, n.sql} {
		if p != nil {
			p.Accept()
			p.Heal()
			p.Delay(0)
			p.SwallowReplies(0, func(int64, []byte) bool { return false })
		}
	}
	n.signal(syscall.SIGCONT)
}

var errNoNode = errors.New("no such program in this round")
