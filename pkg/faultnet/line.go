package faultnet

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// line is one connection, from the client through the proxy to the server.
type line struct {
	proxy          *Proxy
	number         int64
	client, server net.Conn
	mute           atomic.Pointer[swallow] // the next reply is swallowed
	ended          sync.Once
	done           chan struct{}
}

// carry moves bytes one way until either side ends or pass forbids it.
func (l *line) carry(to, from net.Conn, pass func(chunk []byte) bool) {
	defer l.end((net.Conn).Close)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !pass(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// request waits for what keeps a request back; false: the line ended meanwhile.
func (l *line) request(chunk []byte) bool {
	if !l.travel() {
		return false
	}
	for _, h := range l.proxy.holdsOn(l.number, chunk) {
		h.arrived <- struct{}{}
		select {
		case <-h.released:
		case <-l.done:
			return false
		}
	}
	if s := l.proxy.swallows(l.number, chunk); s != nil {
		l.mute.Store(s)
	}
	return l.watched(Watcher.Request, chunk)
}

// watched asks the watcher; false comes only once the line has ended.
func (l *line) watched(way func(Watcher, int64, []byte) bool, chunk []byte) bool {
	var w Watcher
	l.proxy.set(func() { w = l.proxy.watcher })
	if w == nil || way(w, l.number, chunk) {
		return true
	}
	<-l.done
	return false
}

func (l *line) reply(chunk []byte) bool {
	if !l.travel() {
		return false
	}
	s := l.mute.Load()
	if s == nil {
		return l.watched(Watcher.Reply, chunk)
	}
	l.reset()
	l.proxy.swallowed(s)
	return false
}

// travel takes as long as bytes need on their way.
func (l *line) travel() bool {
	var clear chan struct{}
	var delay time.Duration
	l.proxy.set(func() { clear, delay = l.proxy.clear, l.proxy.delay })
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.done:
			return false
		}
	}
	select {
	case <-clear:
		return true
	case <-l.done:
		return false
	}
}

// reset ends the line so that both sides see a reset where their network has one.
func (l *line) reset() { l.end(hangUp) }

func (l *line) end(how func(net.Conn) error) {
	l.ended.Do(func() {
		close(l.done)
		_ = how(l.client)
		_ = how(l.server)
	})
}

func hangUp(c net.Conn) error {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of a goodbye
	}
	return c.Close()
}

func (p *Proxy) holdsOn(line int64, chunk []byte) (holds []*Hold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.holds {
		if h.match(line, chunk) {
			holds = append(holds, h)
		}
	}
	return holds
}

func (p *Proxy) swallows(line int64, chunk []byte) *swallow {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.swallow; s != nil && s.left > 0 && s.match(line, chunk) {
		return s
	}
	return nil
}

// swallowed counts a reply that was swallowed.
func (p *Proxy) swallowed(s *swallow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.left--; s.left == 0 {
		close(s.done)
	}
}
