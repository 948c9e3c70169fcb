package steps

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// step is one call that changes something, by its name and how often that came before.
type step struct {
	name string
	nth  int // from 1
}

func (s step) String() string {
	if s.nth == 1 {
		return s.name
	}
	return fmt.Sprintf("%s (%d)", s.name, s.nth)
}

// side is the side of a step on which the process dies.
type side string

const (
	before side = "about to be sent"
	after  side = "executed, not answered"
)

// death is when a process is to die.
type death struct {
	step
	side side
}

func (d death) String() string { return d.step.String() + " " + string(d.side) }

// taken is the step at which a worker gets an order: the order is in the reply.
const taken = "XREADGROUP"

// record counts the steps of one program over both of its ways. Once its death is reached
// nothing passes any more in either direction.
type record struct {
	mu      sync.Mutex
	open    bool // steps count
	steps   []step
	seen    map[string]int
	txs     transactions
	readers map[int64]bool // lines to Redis whose last request read the stream

	due     death
	stopped bool
	waiting *awaited // its reply completes the step that is due
	reached chan struct{}
}

type awaited struct {
	link faultnet.Watcher
	line int64
}

func newRecord() *record {
	return &record{seen: map[string]int{}, txs: transactions{}, readers: map[int64]bool{}, reached: make(chan struct{})}
}

// arm counts from now on, up to the death that is due; the zero death never comes.
func (r *record) arm(d death) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open, r.due = true, d
	r.steps, r.seen = nil, map[string]int{}
}

// rest counts no more.
func (r *record) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = false
}

// disarm is rest, unless the death has come; then it is false.
func (r *record) disarm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	r.open = false
	return true
}

// list returns the steps so far.
func (r *record) list() []step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]step(nil), r.steps...)
}

// pass judges a request that holds steps; false keeps it.
func (r *record) pass(link faultnet.Watcher, line int64, names []string) bool {
	if r.stopped {
		return false
	}
	for _, name := range names {
		switch r.hits(name) {
		case before:
			r.stop()
			return false
		case after:
			r.stopped, r.waiting = true, &awaited{link, line}
		}
	}
	return true
}

// hits counts a step and says on which side of it the program dies; "": on none.
func (r *record) hits(name string) side {
	if !r.open {
		return ""
	}
	r.seen[name]++
	s := step{name, r.seen[name]}
	r.steps = append(r.steps, s)
	if s != r.due.step {
		return ""
	}
	return r.due.side
}

func (r *record) stop() {
	r.stopped = true
	close(r.reached)
}

// answer judges a reply; false keeps it.
func (r *record) answer(link faultnet.Watcher, line int64) bool {
	if r.waiting != nil && *r.waiting == (awaited{link, line}) {
		r.waiting = nil
		close(r.reached)
	}
	return !r.stopped
}

// toRedis and toSQL watch the two ways.
type (
	toRedis struct{ *record }
	toSQL   struct{ *record }
)

func (w toRedis) Request(line int64, chunk []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readers[line] = bytes.Contains(bytes.ToUpper(chunk[:min(len(chunk), 64)]), []byte(taken))
	return w.pass(w, line, redisSteps(chunk))
}

func (w toRedis) Reply(line int64, chunk []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped && w.readers[line] && bytes.Contains(chunk, []byte("userId")) && w.hits(taken) != "" {
		w.stop()
	}
	return w.answer(w, line)
}

func (w toSQL) Request(line int64, chunk []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name := w.txs.step(line, chunk); name != "" {
		return w.pass(w, line, []string{name})
	}
	return !w.stopped
}

func (w toSQL) Reply(line int64, _ []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answer(w, line)
}
