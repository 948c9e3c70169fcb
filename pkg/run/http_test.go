package run

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener whose connections are in memory, so that a server's time-outs run
// on the clock of a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// ask sends one request and returns the status and body of its answer.
func (p *pipes) ask(t *testing.T, request string) (int, string) {
	t.Helper()
	conn := p.dial()
	defer conn.Close()
	_, err := io.WriteString(conn, request)
	require.NoError(t, err)
	return answer(t, conn)
}

func answer(t *testing.T, conn net.Conn) (int, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// served runs a server for h until the test ends it by end, and returns its error then.
func served(t *testing.T, h http.HandlerFunc) (p *pipes, end func() error) {
	p = newPipes()
	intake, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- HTTP(p, NewServer(h))(intake, t.Context()) }()
	return p, func() error { stop(); return <-done }
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

func TestServeSlowHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := served(t, ok)
		start := time.Now()
		half := make([]net.Conn, 500)
		for i := range half {
			half[i] = p.dial()
			_, err := io.WriteString(half[i], "GET / HTTP/1.1\r\nHost: x\r\n")
			require.NoError(t, err)
		}
		status, body := p.ask(t, get)
		require.Equal(t, http.StatusOK, status, "the others are served meanwhile")
		require.Equal(t, "ok", body)
		for _, c := range half {
			_, err := io.ReadAll(c)
			require.NoError(t, err)
		}
		require.Equal(t, readHeaderTimeout, time.Since(start), "all are closed")
		require.NoError(t, end())
	})
}

// Who connects ahead of need is served when they ask.
func TestServeFreshConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := served(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			ok(w, r)
		})
		conn := p.dial()
		defer conn.Close()
		<-time.After(idleTimeout - time.Second)
		go func() {
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
			<-time.After(time.Second) // their body has as much time as any other
			_, _ = io.WriteString(conn, "ok"+get)
		}()
		for range 2 {
			status, body := answer(t, conn)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, "ok", body)
		}

		silent, start := p.dial(), time.Now()
		_, err := io.ReadAll(silent)
		require.NoError(t, err)
		require.Equal(t, idleTimeout, time.Since(start), "and nobody is waited for for ever")
		require.NoError(t, silent.Close())
		require.NoError(t, conn.Close())
		require.NoError(t, end())
	})
}

func TestServeTrickledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		cut := make(chan error, 1)
		p, end := served(t, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			cut <- err
		})
		conn := p.dial()
		defer conn.Close()
		trickled := make(chan struct{})
		go func() {
			defer close(trickled)
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
			for tick := time.NewTicker(time.Second); ; <-tick.C {
				if _, err := io.WriteString(conn, "x"); err != nil {
					return
				}
			}
		}()
		var timeout net.Error
		require.ErrorAs(t, <-cut, &timeout)
		require.True(t, timeout.Timeout())
		require.Equal(t, readTimeout, time.Since(start))
		require.NoError(t, conn.Close())
		<-trickled
		require.NoError(t, end())
	})
}

func TestServeHugeHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := served(t, ok)
		conn := p.dial()
		defer conn.Close()
		go func() {
			// The server stops reading somewhere in the middle of it.
			_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", 1<<20))
		}()
		status, _ := answer(t, conn)
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, status)
		require.NoError(t, conn.Close())
		require.NoError(t, end())
	})
}

func TestServeAnswersWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inFlight, release := make(chan struct{}), make(chan struct{})
		p, end := served(t, func(w http.ResponseWriter, r *http.Request) {
			close(inFlight)
			<-release
			require.NoError(t, r.Context().Err())
			ok(w, r)
		})
		conn := p.dial()
		defer conn.Close()
		go func() { _, _ = io.WriteString(conn, get) }()
		<-inFlight
		ended := make(chan error, 1)
		go func() { ended <- end() }()
		<-p.closed // nothing new is accepted
		close(release)
		status, body := answer(t, conn)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "ok", body)
		require.NoError(t, <-ended)
	})
}

func TestServeUntilWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		intake, stop := context.WithCancel(t.Context())
		work, cut := context.WithCancelCause(t.Context())
		inFlight, handled := make(chan struct{}), make(chan error, 1)
		done := make(chan error, 1)
		go func() {
			done <- HTTP(p, NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(inFlight)
				<-r.Context().Done()
				handled <- context.Cause(r.Context())
			})))(intake, work)
		}()
		conn := p.dial()
		defer conn.Close()
		go func() { _, _ = io.WriteString(conn, get) }()
		<-inFlight
		stop()
		<-p.closed
		cut(ErrLate)
		require.ErrorIs(t, <-done, context.Canceled)
		require.ErrorIs(t, <-handled, ErrLate, "the handler hears of it")
		_, err := io.ReadAll(conn)
		require.NoError(t, err, "closed")
	})
}

func TestServeOnListenerThatFails(t *testing.T) {
	p := newPipes()
	require.NoError(t, p.Close())
	err := HTTP(p, NewServer(http.HandlerFunc(ok)))(t.Context(), t.Context())
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorContains(t, err, "run.HTTP: pipe")
}
