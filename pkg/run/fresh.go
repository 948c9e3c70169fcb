package run

import (
	"net"
	"time"
)

// freshListener gives a connection on which nothing was asked yet as long as one that waits
// for its next request. By itself net/http counts the time for the first header from the
// moment of accepting: a client or proxy that connects ahead of need would find its
// connection closed just when it wants it, which its caller sees as an answer that never came.
type freshListener struct{ net.Listener }

func (l freshListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &fresh{Conn: conn}, nil
}

// fresh is read by one goroutine, which is the one that sets its deadlines.
type fresh struct {
	net.Conn
	began  time.Time     // when the server began to read; zero: not yet
	header time.Time     // when it wants the first header to be complete
	asked  bool          // the first byte has come
	late   time.Duration // from began to the first byte, which the first request gets on top
}

func (c *fresh) SetReadDeadline(t time.Time) error {
	switch {
	case t.IsZero(): // the first request is over
		c.late = 0
	case c.asked:
		t = t.Add(c.late)
	case c.began.IsZero():
		c.began, c.header = time.Now(), t
		t = c.began.Add(idleTimeout)
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *fresh) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.asked {
		c.asked = true
		if !c.began.IsZero() {
			c.late = time.Since(c.began)
			err = c.Conn.SetReadDeadline(c.header.Add(c.late))
		}
	}
	return n, err
}
