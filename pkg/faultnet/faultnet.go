// Package faultnet is a proxy in front of one server, which breaks the way to it as networks
// do, and at the very request that a test is about. It is for tests alone, and imports
// nothing of ours.
package faultnet

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Pick returns full where SECKILL_E2E=full asks for tests at full length, else short.
func Pick[T any](short, full T) T {
	if os.Getenv("SECKILL_E2E") == "full" {
		return full
	}
	return short
}

// Proxy listens on a loopback port and passes all bytes on. Its methods may be called at
// any time, from any goroutine.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	lines    map[*line]bool
	refusing bool
	clear    chan struct{} // closed while bytes may pass
	delay    time.Duration
	holds    map[*Hold]bool
	swallow  *swallow
	watcher  Watcher
	last     int64 // number of the newest line
}

// New starts a proxy in front of target, which is host:port, or the path of a Unix socket.
// It ends with the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	var l net.ListenConfig
	listener, err := l.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: listener, lines: map[*line]bool{}, holds: map[*Hold]bool{}, clear: make(chan struct{})}
	close(p.clear)
	ctx := t.Context()
	p.running.Go(func() { p.accept(ctx) })
	t.Cleanup(p.close)
	return p
}

// Addr is where the proxy listens, 127.0.0.1 and a port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut resets all connections. What was kept back on them never reaches the server.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		l.reset()
	}
}

// Refuse is Cut, and from then on every new connection is reset at once, until Accept.
func (p *Proxy) Refuse() {
	p.set(func() { p.refusing = true })
	p.Cut()
}

// Accept ends Refuse.
func (p *Proxy) Accept() { p.set(func() { p.refusing = false }) }

// BlackHole lets clients connect and send, and passes nothing on in either direction until
// Heal. As in a network that comes back, what was sent meanwhile arrives then.
func (p *Proxy) BlackHole() {
	p.set(func() {
		if isClosed(p.clear) {
			p.clear = make(chan struct{})
		}
	})
}

// Heal ends BlackHole.
func (p *Proxy) Heal() {
	p.set(func() {
		if !isClosed(p.clear) {
			close(p.clear)
		}
	})
}

// Delay keeps all that passes from now on back for d, on each of its two ways.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// Hold is requests that are kept back.
type Hold struct {
	proxy    *Proxy
	match    Match
	arrived  chan struct{}
	released chan struct{}
	once     sync.Once
}

// Hold keeps back each request that matches, and what comes after it on its connection,
// until Release.
func (p *Proxy) Hold(match Match) *Hold {
	const many = 1024 // more requests than a test waits for
	h := &Hold{proxy: p, match: match, arrived: make(chan struct{}, many), released: make(chan struct{})}
	p.set(func() { p.holds[h] = true })
	return h
}

// Arrived receives once for each request that is kept back.
func (h *Hold) Arrived() <-chan struct{} { return h.arrived }

// Release lets the requests go, and no longer keeps others back.
func (h *Hold) Release() {
	h.proxy.set(func() { delete(h.proxy.holds, h) })
	h.once.Do(func() { close(h.released) })
}

// Watcher sees all that passes, and decides whether it does. Where it says false these bytes,
// and what comes after them on their way, are kept until their line is cut. Lines are
// numbered from 1; the two ways of one may call at once.
type Watcher interface {
	Request(line int64, chunk []byte) bool
	Reply(line int64, chunk []byte) bool
}

// Watch asks w about all that comes from now on, in place of an earlier watcher.
func (p *Proxy) Watch(w Watcher) { p.set(func() { p.watcher = w }) }

type swallow struct {
	match Match
	left  int
	done  chan struct{}
}

// SwallowReplies lets the next n requests that match reach the server, and resets their
// connection when the reply comes: it was done, and nobody was told. The channel closes
// with the last of them. A later call takes the place of an earlier one.
func (p *Proxy) SwallowReplies(n int, match Match) <-chan struct{} {
	s := &swallow{match: match, left: n, done: make(chan struct{})}
	p.set(func() { p.swallow = s })
	return s.done
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.connect(ctx, client) })
	}
}

func (p *Proxy) connect(ctx context.Context, client net.Conn) {
	network := "tcp"
	if strings.HasPrefix(p.target, "/") {
		network = "unix"
	}
	var d net.Dialer
	server, err := d.DialContext(ctx, network, p.target)
	if err != nil {
		_ = hangUp(client)
		return
	}
	l := &line{proxy: p, client: client, server: server, done: make(chan struct{})}
	if !p.enter(l) {
		l.reset()
		return
	}
	defer p.set(func() { delete(p.lines, l) })
	var ways sync.WaitGroup
	ways.Go(func() { l.carry(server, client, l.request) })
	ways.Go(func() { l.carry(client, server, l.reply) })
	ways.Wait()
}

func (p *Proxy) enter(l *line) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing {
		return false
	}
	p.last++
	l.number, p.lines[l] = p.last, true
	return true
}

func (p *Proxy) close() {
	p.Refuse()
	_ = p.listener.Close()
	p.running.Wait()
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
