package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/seckill"
)

// pending is a shop whose user 42 holds orders 1 to n of voucher 1001, all queued until
// stored is set.
type pending struct {
	shop
	stored atomic.Bool
	looks  atomic.Int64
}

func newPending() *pending {
	p := &pending{}
	p.vouchers = listed(onSale(1001))
	p.order = func(id seckill.OrderID) (seckill.Order, error) {
		p.looks.Add(1)
		if !p.stored.Load() {
			return seckill.Order{}, seckill.OrderNotFound
		}
		return seckill.Order{ID: id, User: 42, Voucher: 1001, Status: seckill.Created, CreatedAt: noon}, nil
	}
	p.tickets = holding(42, 1001, 7)
	return p
}

// ask sends one request for the status of order 7 in the background.
func ask(t *testing.T, r *rig, wait string) <-chan *httptest.ResponseRecorder {
	return askAs(r, wait, as(t, 42, auth.NoRole))
}

func askAs(r *rig, wait string, header []string) <-chan *httptest.ResponseRecorder {
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() { answer <- r.do("GET", "/api/v1/orders/7?wait="+wait, "", header...) }()
	return answer
}

func TestWait(t *testing.T) {
	for name, c := range map[string]struct {
		then   func(t *testing.T, p *pending, r *rig) // once the caller waits
		took   time.Duration
		status string
		looks  int64
	}{
		"it is stored": {
			then:   func(_ *testing.T, p *pending, r *rig) { p.stored.Store(true); r.api.Settled([]seckill.OrderID{6, 7}) },
			status: "created", looks: 2,
		},
		"the message of its storing got lost: the time is up": {
			then: func(_ *testing.T, p *pending, _ *rig) { p.stored.Store(true) },
			took: 10 * time.Second, status: "created", looks: 2,
		},
		"the message got lost with the line, which comes back": {
			then:   func(_ *testing.T, p *pending, r *rig) { p.stored.Store(true); r.api.Resumed() },
			status: "created", looks: 2,
		},
		"nothing happens": {
			then: func(*testing.T, *pending, *rig) {}, took: 10 * time.Second, status: "queued", looks: 2,
		},
		"another order is stored": {
			then: func(_ *testing.T, _ *pending, r *rig) { r.api.Settled([]seckill.OrderID{8}) }, took: 10 * time.Second, status: "queued", looks: 2,
		},
		"the line comes back and nothing was missed": {
			then: func(_ *testing.T, _ *pending, r *rig) { r.api.Resumed() }, took: 10 * time.Second, status: "queued", looks: 3,
		},
		"the process stops": {
			then: func(_ *testing.T, _ *pending, r *rig) { r.api.Drain() }, status: "queued", looks: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPending()
				r := p.open(t)
				began := time.Now()
				answer := ask(t, r, "10s")
				synctest.Wait()
				require.EqualValues(t, 1, p.looks.Load())
				c.then(t, p, r)
				w := <-answer
				require.Equal(t, c.took, time.Since(began))
				require.Equal(t, http.StatusOK, w.Code)
				require.Contains(t, w.Body.String(), `"status":"`+c.status+`"`)
				require.Equal(t, c.looks, p.looks.Load(), "nobody polls the database")
			})
		})
	}
}

func TestWaitAnswersAtOnce(t *testing.T) {
	p := newPending()
	r := p.open(t)
	for _, wait := range []string{"", "0s", "0"} {
		require.Contains(t, (<-ask(t, r, wait)).Body.String(), `"status":"queued"`)
	}
	p.stored.Store(true)
	require.Contains(t, (<-ask(t, r, "30s")).Body.String(), `"status":"created"`)
	r.api.Drain()
	p.stored.Store(false)
	require.Contains(t, (<-ask(t, r, "30s")).Body.String(), `"status":"queued"`, "a process that stops lets nobody wait")
	p.tickets = nil
	requireCode(t, <-ask(t, r, "30s"), 404, seckill.OrderNotFound)
}

func TestWaitRefuses(t *testing.T) {
	p := newPending()
	r := p.open(t)
	for _, wait := range []string{"31s", "-1s", "10", "x", "1h"} {
		requireCode(t, <-ask(t, r, wait), 400, seckill.Invalid)
	}
}

// Ten thousand wait over HTTP, on connections in memory: twice as many descriptors are more
// than a process gets everywhere. No time passes between the announcement and the answers.
func TestWaitOfTenThousand(t *testing.T) {
	waiters := faultnet.Pick(2000, 10_000)
	synctest.Test(t, func(t *testing.T) {
		sale := newPending()
		r := sale.openAt(t, newClock(noon))
		p, stop := listening(t, r)
		before := inUse()
		request := "GET /api/v1/orders/7?wait=30s HTTP/1.1\r\nHost: api\r\nConnection: close\r\nAuthorization: " + as(t, 42, auth.NoRole)[1] + "\r\n\r\n"
		answers := make(chan string, waiters)
		for range waiters {
			conn := p.dial()
			go func() {
				_, _ = io.WriteString(conn, request)
				answer, _ := io.ReadAll(conn)
				answers <- string(answer)
			}()
		}
		synctest.Wait()
		require.EqualValues(t, waiters, sale.looks.Load())
		per := (inUse() - before) / int64(waiters)
		t.Logf("%d bytes for each who waits, its connection and its client included", per)
		require.Less(t, per, int64(64<<10))
		sale.stored.Store(true)
		announced := time.Now()
		r.api.Settled([]seckill.OrderID{7})
		for range waiters {
			require.Contains(t, <-answers, `"status":"created"`)
		}
		require.Zero(t, time.Since(announced))
		require.EqualValues(t, 2*waiters, sale.looks.Load(), "nobody asks the database while they wait")
		require.NoError(t, stop())
	})
}

func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
