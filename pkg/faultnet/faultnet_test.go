package faultnet

import (
	"bufio"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers each line with itself, and counts them.
type echo struct {
	net.Listener
	lines atomic.Int64
}

func newEcho(t *testing.T, network, addr string) *echo {
	t.Helper()
	l, err := net.Listen(network, addr)
	require.NoError(t, err)
	e := &echo{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go e.serve(c)
		}
	}()
	return e
}

func (e *echo) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		e.lines.Add(1)
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
}

type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, p *Proxy) client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return client{c, t, bufio.NewReader(c)}
}

func (c client) send(text string) {
	c.t.Helper()
	_, err := io.WriteString(c, text+"\n")
	require.NoError(c.t, err)
}

func (c client) receive() (string, error) {
	line, err := c.r.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (c client) says(text string) {
	c.t.Helper()
	c.send(text)
	answer, err := c.receive()
	require.NoError(c.t, err)
	require.Equal(c.t, text, answer)
}

func (c client) isReset() {
	c.t.Helper()
	_, err := c.receive()
	require.ErrorIs(c.t, err, syscall.ECONNRESET)
}

// isRefused dials in vain: the reset comes to the dial or to the first read.
func isRefused(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err == nil {
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func setup(t *testing.T) (*echo, *Proxy) {
	t.Helper()
	e := newEcho(t, "tcp", "127.0.0.1:0")
	return e, New(t, e.Addr().String())
}

func TestPass(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	e := newEcho(t, "unix", socket)
	c := dial(t, New(t, socket))
	c.says("a")
	c.says(strings.Repeat("b", 1<<20))
	require.EqualValues(t, 2, e.lines.Load())
}

func TestCut(t *testing.T) {
	_, p := setup(t)
	c := dial(t, p)
	c.says("a")
	p.Cut()
	c.isReset()
	dial(t, p).says("a")
}

func TestRefuse(t *testing.T) {
	e, p := setup(t)
	c := dial(t, p)
	c.says("a")
	p.Refuse()
	c.isReset()
	isRefused(t, p)
	p.Accept()
	dial(t, p).says("b")
	require.EqualValues(t, 2, e.lines.Load())
}

func TestServerIsDown(t *testing.T) {
	e, p := setup(t)
	require.NoError(t, e.Close())
	isRefused(t, p)
}

func TestBlackHole(t *testing.T) {
	e, p := setup(t)
	c := dial(t, p)
	c.says("a")
	p.BlackHole()
	p.BlackHole()
	c.send("b")
	late := dial(t, p)
	late.send("c")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.receive()
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), "neither an answer nor an end")
	require.EqualValues(t, 1, e.lines.Load())
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	p.Heal()
	p.Heal()
	for _, c := range []client{c, late} {
		_, err := c.receive()
		require.NoError(t, err)
	}
	require.EqualValues(t, 3, e.lines.Load(), "what was sent meanwhile arrives")
}

func TestDelay(t *testing.T) {
	_, p := setup(t)
	const d = 30 * time.Millisecond
	p.Delay(d)
	c := dial(t, p)
	began := time.Now()
	c.says("a")
	require.GreaterOrEqual(t, time.Since(began), 2*d)
}

func TestHold(t *testing.T) {
	e, p := setup(t)
	h := p.Hold(Has("COMMIT"))
	c, other := dial(t, p), dial(t, p)
	c.says("begin")
	c.send("COMMIT")
	<-h.Arrived()
	other.says("a")
	require.EqualValues(t, 2, e.lines.Load())
	h.Release()
	h.Release()
	_, err := c.receive()
	require.NoError(t, err)
	other.says("COMMIT")

	h = p.Hold(Has("COMMIT"))
	c.send("COMMIT")
	<-h.Arrived()
	p.Cut()
	c.isReset()
	h.Release()
	require.EqualValues(t, 4, e.lines.Load(), "what was cut off never arrives")
}

func TestSwallowReplies(t *testing.T) {
	e, p := setup(t)
	done := p.SwallowReplies(2, Has("COMMIT"))
	for range 2 {
		c := dial(t, p)
		c.says("begin")
		c.send("COMMIT")
		c.isReset()
	}
	<-done
	dial(t, p).says("COMMIT")
	require.EqualValues(t, 5, e.lines.Load(), "all of it was done")
}

// strict is a watcher that keeps what holds one of two words.
type strict struct{ request, reply string }

func (s strict) Request(_ int64, chunk []byte) bool {
	return !strings.Contains(string(chunk), s.request)
}
func (s strict) Reply(_ int64, chunk []byte) bool { return !strings.Contains(string(chunk), s.reply) }

func TestWatch(t *testing.T) {
	for _, row := range []struct {
		name    string
		watcher strict
		reached int64 // lines that the server got
	}{
		{"a request is kept", strict{request: "COMMIT", reply: "none"}, 2},
		{"it is done, and the reply is kept", strict{request: "none", reply: "COMMIT"}, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, p := setup(t)
			p.Watch(row.watcher)
			c, other := dial(t, p), dial(t, p)
			c.says("begin")
			c.send("COMMIT")
			other.says("a")
			require.Eventually(t, func() bool { return e.lines.Load() == row.reached }, time.Minute, time.Millisecond)
			p.Cut()
			c.isReset()
			require.Equal(t, row.reached, e.lines.Load())
		})
	}
}

func TestPick(t *testing.T) {
	t.Setenv("SECKILL_E2E", "")
	require.Equal(t, 1, Pick(1, 2))
	t.Setenv("SECKILL_E2E", "full")
	require.Equal(t, 2, Pick(1, 2))
}
