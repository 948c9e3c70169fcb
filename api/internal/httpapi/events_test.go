package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// pipes is a listener in memory, so that thousands are on it and its time is a bubble's.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// served runs the API on a server like the program's; stop ends it as a signal would.
func served(t *testing.T, r *rig) (client *http.Client, stop func() error) {
	p, end := listening(t, r)
	client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return p.dial(), nil
	}}}
	return client, func() error {
		defer client.CloseIdleConnections()
		return end()
	}
}

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

func listening(t *testing.T, r *rig) (p *pipes, stop func() error) {
	p = &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	intake, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run.HTTP(p, run.NewServer(r.api.Handler()))(intake, t.Context()) }()
	return p, func() error {
		end()
		r.api.Drain()
		return <-done
	}
}

// get asks as user 42.
func get(t *testing.T, client *http.Client, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api"+path, nil)
	require.NoError(t, err)
	header := as(t, 42, auth.NoRole)
	req.Header.Set(header[0], header[1])
	res, err := client.Do(req)
	require.NoError(t, err)
	return res
}

// event reads the next event or comment of a stream, without its blank line.
func event(t *testing.T, lines *bufio.Reader) string {
	t.Helper()
	var text strings.Builder
	for {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, text.String())
		if line == "\n" {
			return text.String()
		}
		text.WriteString(line)
	}
}

// walking is a shop whose order 7 of user 42 has whatever status a test sets.
type walking struct {
	shop
	status atomic.Value
	down   atomic.Bool
}

func newWalking() *walking {
	s := &walking{}
	s.vouchers, s.tickets = listed(onSale(1001)), holding(42, 1001, 7)
	s.order = func(id seckill.OrderID) (seckill.Order, error) {
		if s.down.Load() {
			return seckill.Order{}, down
		}
		status, _ := s.status.Load().(seckill.Status)
		if status == "" || id != 7 {
			return seckill.Order{}, seckill.OrderNotFound
		}
		return seckill.Order{ID: id, User: 42, Voucher: 1001, Status: status}, nil
	}
	return s
}

func told(status seckill.Status) string {
	return `event: order` + "\n" + `data: {"orderId":"7","voucherId":"1001","userId":"42","status":"` + string(status) + `"}` + "\n"
}

func TestFollowOrder(t *testing.T) {
	for _, last := range []seckill.Status{seckill.Paid, seckill.Cancelled} {
		t.Run(string(last), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newWalking()
				r := s.openAt(t, newClock(noon))
				client, stop := served(t, r)
				began := time.Now()
				res := get(t, client, "/api/v1/orders/7/events")
				defer res.Body.Close()
				require.Equal(t, http.StatusOK, res.StatusCode)
				require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
				require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
				require.Equal(t, "no", res.Header.Get("X-Accel-Buffering"))
				require.NotEmpty(t, res.Header.Get("X-Request-Id"))
				lines := bufio.NewReader(res.Body)
				require.Equal(t, told(seckill.Queued), event(t, lines))
				require.Zero(t, time.Since(began))

				r.api.Resumed() // nothing has changed, so nothing is told
				for i := range 5 {
					require.Equal(t, ":\n", event(t, lines), "it outlives every time-out of the server")
					require.Equal(t, time.Duration(i+1)*15*time.Second, time.Since(began))
				}
				s.status.Store(seckill.Created)
				r.api.Settled([]seckill.OrderID{7})
				require.Equal(t, told(seckill.Created), event(t, lines))
				require.Equal(t, 75*time.Second, time.Since(began), "at once")

				s.down.Store(true) // a database that is away ends no stream
				r.api.Settled([]seckill.OrderID{7})
				require.Equal(t, ":\n", event(t, lines))
				synctest.Wait()
				s.down.Store(false)
				s.status.Store(last) // and its message is lost
				require.Equal(t, ":\n", event(t, lines))
				require.Equal(t, told(last), event(t, lines))
				_, err := lines.ReadByte()
				require.ErrorIs(t, err, io.EOF, "a final status ends it")
				require.NoError(t, stop())
				requireUntimed(t, r)
			})
		})
	}
}

// requireUntimed checks that a stream is counted and its length is not.
func requireUntimed(t *testing.T, r *rig) {
	t.Helper()
	const route = `{route="GET /api/v1/orders/:orderId/events"}`
	families, err := r.reg.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	require.NoError(t, testutil.GatherAndCompare(r.reg, strings.NewReader(`
		# HELP seckill_http_requests_total HTTP requests, by route and status code.
		# TYPE seckill_http_requests_total counter
		seckill_http_requests_total{code="200",route="GET /api/v1/orders/:orderId/events"} 1
	`), "seckill_http_requests_total"))
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); f.GetName() == "seckill_http_request_duration_seconds" {
				require.Zero(t, h.GetSampleCount(), route)
			}
		}
	}
}

func TestFollowOrderEndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWalking()
		client, stop := served(t, s.openAt(t, newClock(noon)))
		res := get(t, client, "/api/v1/orders/7/events")
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		require.Equal(t, told(seckill.Queued), event(t, lines))
		<-time.After(14 * time.Second) // past the time in which the event had to be written
		began := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		_, err := lines.ReadByte()
		require.ErrorIs(t, err, io.EOF, "a whole answer, not one that broke off")
		require.NoError(t, <-stopped)
		require.Less(t, time.Since(began), time.Second)
	})
}

// A client that leaves gives up its place, also one that only stops reading.
func TestFollowOrderEndsWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWalking()
		r := s.openAt(t, newClock(noon))
		client, stop := served(t, r)
		leaves, stalls := get(t, client, "/api/v1/orders/7/events"), get(t, client, "/api/v1/orders/7/events")
		synctest.Wait()
		require.Equal(t, 2.0, testutil.ToFloat64(r.meter.InFlight))
		require.NoError(t, leaves.Body.Close())
		synctest.Wait()
		require.Equal(t, 1.0, testutil.ToFloat64(r.meter.InFlight))
		<-time.After(10 * 15 * time.Second) // nobody reads its comments
		synctest.Wait()
		require.Zero(t, testutil.ToFloat64(r.meter.InFlight))
		require.NoError(t, stalls.Body.Close())
		require.NoError(t, stop())
	})
}

func TestFollowOrderRefuses(t *testing.T) {
	s := newWalking()
	r := s.open(t)
	const path = "/api/v1/orders/7/events"
	requireCode(t, r.do("GET", path, ""), 401, seckill.Unauthenticated)
	requireCode(t, r.do("GET", path, "", as(t, 43, auth.NoRole)...), 404, seckill.OrderNotFound)
	requireCode(t, r.do("GET", path, "", as(t, 43, auth.Service)...), 404, seckill.OrderNotFound)
	requireCode(t, r.do("GET", "/api/v1/orders/07/events", "", as(t, 42, auth.NoRole)...), 400, seckill.Invalid)
	s.down.Store(true)
	requireCode(t, r.do("GET", path, "", as(t, 42, auth.NoRole)...), 503, seckill.Unavailable)
	s.down.Store(false)
	r.api.Drain()
	w := r.do("GET", path, "", as(t, 42, auth.NoRole)...)
	require.Equal(t, told(seckill.Queued)+"\n", w.Body.String(), "a server that stops says what it knows")
}
