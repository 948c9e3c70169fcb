package chaos

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/openseckill/seckill/pkg/faultnet"
)

var (
	single = []mode{bare, everysec, always} // one server
	kept   = []mode{everysec, always}       // one server with an append-only file
)

// faults are all there are, by where they strike.
var faults = slices.Concat(programFaults, networkFaults, redisFaults, sqlFaults)

// chosen are the faults whose names are in a list with commas; of an empty list, all.
func chosen(list string) ([]*fault, error) {
	if list == "" {
		return faults, nil
	}
	var fs []*fault
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(faults, func(f *fault) bool { return f.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("no fault is called %q; there are %s", name, strings.Join(names(faults), ", "))
		}
		fs = append(fs, faults[i])
	}
	return fs, nil
}

func names(fs []*fault) (all []string) {
	for _, f := range fs {
		all = append(all, f.name)
	}
	return all
}

// suffer runs the plan, each step at its time, and returns when all are over.
func (w *world) suffer() (failed []string) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, s := range w.plan.steps {
		all.Go(func() {
			if !pause(w.pass(), s.at-w.since()) {
				return
			}
			w.tale.add(w.since(), "%s begins", s.fault.name)
			err := s.fault.brk(w, s)
			w.tale.add(w.since(), "%s is over", s.fault.name)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Sprintf("%s: %v", s.fault.name, err))
			}
		})
	}
	all.Wait()
	return failed
}

// last lets a fault last.
func (w *world) last(s step) { pause(w.pass(), s.lasts) }

// one is the program that a step strikes.
func one(ns []*node, s step) *node { return ns[s.dice%uint64(len(ns))] }

// programFaults strike processes.
var programFaults = []*fault{
	{name: "kill-api", brk: func(w *world, s step) error { return w.end(w.apis, s, syscall.SIGKILL) }},
	{name: "kill-worker", brk: func(w *world, s step) error { return w.end(w.workers, s, syscall.SIGKILL) }},
	{name: "stop-api", brk: func(w *world, s step) error { return w.end(w.apis, s, syscall.SIGTERM) }},
	{name: "stop-worker", brk: func(w *world, s step) error { return w.end(w.workers, s, syscall.SIGTERM) }},
	{name: "freeze-api", brk: func(w *world, s step) error { return w.freeze(w.apis, s) }},
	{name: "freeze-worker", brk: func(w *world, s step) error { return w.freeze(w.workers, s) }},
	{name: "clock-jump", modes: single, brk: jump},
}

// end ends one program, now and once more after a while; its supervisor starts it again.
func (w *world) end(ns []*node, s step, how syscall.Signal) error {
	n := one(ns, s)
	w.tale.add(w.since(), "%s gets %v", n.name, how)
	n.signal(how)
	w.last(s)
	if how == syscall.SIGKILL {
		n.signal(how)
	}
	return nil
}

func (w *world) freeze(ns []*node, s step) error {
	n := one(ns, s)
	w.tale.add(w.since(), "%s is frozen", n.name)
	n.signal(syscall.SIGSTOP)
	w.last(s)
	n.signal(syscall.SIGCONT)
	return nil
}

// jump makes the clock of one api wrong by up to two days, either way, and right again.
func jump(w *world, s step) error {
	api := w.apis[1].skewed
	if api == nil {
		return errNoNode
	}
	const most = 48 * time.Hour
	off := time.Duration(s.dice%uint64(2*most)) - most
	w.tale.add(w.since(), "the clock of api-2 jumps by %v", off)
	api.off.Store(int64(off))
	w.last(s)
	api.off.Store(0)
	return nil
}

// networkFaults strike the way of one program to one server.
var networkFaults = []*fault{
	{name: "redis-cut", modes: single, brk: func(w *world, s step) error { return w.cut(toRedis, s) }},
	{name: "redis-refuse", modes: single, brk: func(w *world, s step) error { return w.refuse(toRedis, s) }},
	{name: "redis-delay", modes: single, brk: func(w *world, s step) error { return w.delay(toRedis, s) }},
	{name: "redis-hole", modes: single, brk: func(w *world, s step) error { return w.hole(toRedis, s) }},
	{name: "redis-swallow", modes: single, brk: func(w *world, s step) error { return w.swallow(toRedis, s, isScript) }},
	{name: "sql-cut", brk: func(w *world, s step) error { return w.cut(toSQL, s) }},
	{name: "sql-refuse", brk: func(w *world, s step) error { return w.refuse(toSQL, s) }},
	{name: "sql-delay", brk: func(w *world, s step) error { return w.delay(toSQL, s) }},
	{name: "sql-hole", brk: func(w *world, s step) error { return w.hole(toSQL, s) }},
	{name: "sql-swallow", brk: func(w *world, s step) error { return w.swallow(toSQL, s, isCommit) }},
}

type way func(*node) *faultnet.Proxy

func toRedis(n *node) *faultnet.Proxy { return n.redis }
func toSQL(n *node) *faultnet.Proxy   { return n.sql }

// struck is the way of the program that a step strikes.
func (w *world) struck(to way, s step) *faultnet.Proxy {
	n := one(w.nodes(), s)
	w.tale.add(w.since(), "%s is struck by %s", n.name, s.fault.name)
	return to(n)
}

// cut resets the connections again and again.
func (w *world) cut(to way, s step) error {
	p := w.struck(to, s)
	for end := w.since() + s.lasts; w.since() < end && pause(w.pass(), 30*time.Millisecond); {
		p.Cut()
	}
	return nil
}

func (w *world) refuse(to way, s step) error {
	p := w.struck(to, s)
	p.Refuse()
	w.last(s)
	p.Accept()
	return nil
}

func (w *world) delay(to way, s step) error {
	p := w.struck(to, s)
	p.Delay(time.Duration(s.dice>>8%200) * time.Millisecond)
	w.last(s)
	p.Delay(0)
	return nil
}

func (w *world) hole(to way, s step) error {
	p := w.struck(to, s)
	p.BlackHole()
	w.last(s)
	p.Heal()
	return nil
}

// swallow loses the replies to requests that were done, a few of them.
func (w *world) swallow(to way, s step, match faultnet.Match) error {
	p := w.struck(to, s)
	select {
	case <-p.SwallowReplies(1+int(s.dice>>8%4), match):
	case <-time.After(s.lasts):
	}
	return nil
}

func isScript(_ int64, request []byte) bool {
	return bytes.Contains(request, []byte("evalsha")) || bytes.Contains(request, []byte("eval"))
}

var isCommit = faultnet.Has("COMMIT")
