package obs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

func ready(context.Context) error { return nil }

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// metrics returns the lines of the exposition that start with prefix.
func metrics(t *testing.T, reg *prometheus.Registry, prefix string) []string {
	t.Helper()
	w := get(obs.Ops(reg, ready, slog.New(slog.DiscardHandler)), "/metrics")
	require.Equal(t, http.StatusOK, w.Code)
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func TestNewLogger(t *testing.T) {
	t.Run("json is one object for each line", func(t *testing.T) {
		var out bytes.Buffer
		log := obs.NewLogger(&out, slog.LevelInfo, obs.FormatJSON)
		log.Debug("below the level")
		log.Info("order stored", "order", seckill.OrderID(7))
		var line map[string]any
		require.NoError(t, json.Unmarshal(out.Bytes(), &line))
		require.Equal(t, "order stored", line["msg"])
		require.Equal(t, "7", line["order"], "ids stay strings")
	})
	t.Run("text is key=value", func(t *testing.T) {
		var out bytes.Buffer
		obs.NewLogger(&out, slog.LevelDebug, obs.FormatText).Debug("order stored", "order", seckill.OrderID(7))
		require.Contains(t, out.String(), `level=DEBUG msg="order stored" order=7`)
	})
}

// Lines that come ten times a second are told once a second, with how many were not.
func TestWarnSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := obs.NewSparing(obs.NewLogger(&out, slog.LevelInfo, obs.FormatText))
		for n := range 25 {
			log.Warn(t.Context(), "it is out", "n", n)
			<-time.After(100 * time.Millisecond)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 3)
		for i, ends := range []string{"n=0 leftOut=0", "n=10 leftOut=9", "n=20 leftOut=9"} {
			require.Contains(t, lines[i], `level=WARN msg="it is out; more such lines of this second are left out" `+ends)
		}
	})
}

func TestNewRegistry(t *testing.T) {
	reg := obs.NewRegistry("worker", "v1.2.3")
	require.Len(t, metrics(t, reg, `seckill_build_info{goversion="go1.`), 1)
	require.Contains(t, metrics(t, reg, "seckill_build_info")[0], `program="worker",version="v1.2.3"} 1`)
	require.NotEmpty(t, metrics(t, reg, "go_goroutines"))
	require.NotEmpty(t, metrics(t, reg, "process_open_fds"))
}

func TestOps(t *testing.T) {
	h := obs.Ops(obs.NewRegistry("api", "test"), ready, slog.New(slog.DiscardHandler))
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		require.Equal(t, http.StatusOK, get(h, path).Code, path)
	}
	require.Equal(t, http.StatusNotFound, get(h, "/").Code)
}

func TestReadyz(t *testing.T) {
	var out bytes.Buffer
	var why error
	h := obs.Ops(obs.NewRegistry("api", "test"), func(context.Context) error { return why }, obs.NewLogger(&out, slog.LevelInfo, obs.FormatText))

	why = errors.Join(errors.New("redis: EOF"), errors.New("mysql: bad connection"))
	w := get(h, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "redis: EOF\nmysql: bad connection\n", w.Body.String())
	require.Equal(t, http.StatusOK, get(h, "/livez").Code, "not ready is alive")

	why = nil
	for range 3 {
		require.Equal(t, http.StatusOK, get(h, "/readyz").Code)
	}
	why = errors.New("redis: EOF")
	for range 3 {
		require.Equal(t, http.StatusServiceUnavailable, get(h, "/readyz").Code)
	}
	require.Equal(t, 1, strings.Count(out.String(), "msg=ready"), out.String())
	require.Equal(t, 1, strings.Count(out.String(), "no longer ready"), "one line for each change")
}

func TestReadyzOfHangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		h := obs.Ops(prometheus.NewRegistry(), hang, slog.New(slog.DiscardHandler))
		require.Equal(t, http.StatusServiceUnavailable, get(h, "/readyz").Code)
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestAdmission(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := obs.NewAdmission(reg)
	require.Contains(t, metrics(t, reg, "seckill_admit_total"), `seckill_admit_total{code="SOLD_OUT"} 0`, "series exist from the start")

	m.Admitted(seckill.CodeOf(nil), 3*time.Millisecond)
	m.Admitted(seckill.SoldOut, time.Millisecond)
	m.Admitted(seckill.Invalid, time.Millisecond)
	require.Subset(t, metrics(t, reg, "seckill_admit"), []string{
		`seckill_admit_total{code="ACCEPTED"} 1`,
		`seckill_admit_total{code="SOLD_OUT"} 1`,
		`seckill_admit_total{code="INVALID"} 1`,
		`seckill_admit_duration_seconds_bucket{le="0.001"} 2`,
		`seckill_admit_duration_seconds_bucket{le="0.005"} 3`,
	})

	m.InFlight.Inc()
	m.InFlightMax.Set(100)
	orders := m.Route("/api/v1/orders/{orderId}")
	orders.Answered(http.StatusOK, time.Second)
	orders.Answered(http.StatusOK, time.Second)
	orders.Answered(0, time.Second)
	require.Subset(t, metrics(t, reg, "seckill_http"), []string{
		`seckill_http_in_flight 1`,
		`seckill_http_in_flight_max 100`,
		`seckill_http_requests_total{code="200",route="/api/v1/orders/{orderId}"} 2`,
		`seckill_http_requests_total{code="500",route="/api/v1/orders/{orderId}"} 1`,
		`seckill_http_request_duration_seconds_sum{route="/api/v1/orders/{orderId}"} 3`,
	})
}

func TestWorker(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := obs.NewWorker(reg)
	require.Len(t, metrics(t, reg, "seckill_outcomes_total"), len(seckill.Outcomes()), "series exist from the start")
	require.Equal(t, []string{"seckill_stream_lag -1"}, metrics(t, reg, "seckill_stream_lag"), "unknown is not zero")

	m.Outcome(seckill.Stored)
	m.Buried(seckill.ReasonMalformed)
	m.Alert(obs.AlertShort)
	m.Batch(512)
	m.Stage(obs.StageStore, 20*time.Millisecond)
	m.Lost.Inc()
	m.Reclaimed.Add(3)
	m.SlotsUsed.Set(2)
	m.SlotsMax.Set(4)
	m.Failing("read").Inc()
	m.Failing("claim")
	m.Drift(1001, 3, 1)
	m.Drift(1002, 1, 0)
	m.NoDrift(1002)
	m.Retried(seckill.CodeOf(nil))
	m.Retried(seckill.Unavailable)
	m.ReleasesDue(6)
	m.Sales([]obs.Sale{{Voucher: 1001, Left: 1, Total: 10}})
	m.Sales([]obs.Sale{{Voucher: 1002, Left: 5, Total: 10, Open: true}})
	m.Stream(obs.Stream{Waiting: 7, Pending: 5, Lag: 2, Oldest: 1500 * time.Millisecond, Dead: 4, Consumers: 3, Orphaned: 2})
	require.Subset(t, metrics(t, reg, "seckill_"), []string{
		`seckill_outcomes_total{outcome="stored"} 1`,
		`seckill_buried_total{reason="malformed"} 1`,
		`seckill_alerts_total{kind="short"} 1`,
		`seckill_batch_size_bucket{le="256"} 0`,
		`seckill_batch_size_bucket{le="512"} 1`,
		`seckill_batch_stage_seconds_sum{stage="store"} 0.02`,
		`seckill_batch_stage_seconds_count{stage="lock"} 0`,
		`seckill_lost_total 1`,
		`seckill_reclaimed_total 3`,
		`seckill_slots_used 2`,
		`seckill_slots_max 4`,
		`seckill_failing{what="read"} 1`,
		`seckill_failing{what="claim"} 0`,
		`seckill_books_drift{verdict="mended",voucher="1001"} 3`,
		`seckill_books_drift{verdict="left",voucher="1001"} 1`,
		`seckill_retries_total{code="BUSY"} 1`,
		`seckill_retries_total{code="UNAVAILABLE"} 1`,
		`seckill_dead 4`,
		`seckill_consumers 3`,
		`seckill_stream_orphaned 2`,
		`seckill_release_due 6`,
		`seckill_sale_left{voucher="1002"} 5`,
		`seckill_sale_total{voucher="1002"} 10`,
		`seckill_sale_open{voucher="1002"} 1`,
		`seckill_stream_waiting 7`,
		`seckill_stream_pending 5`,
		`seckill_stream_lag 2`,
		`seckill_oldest_waiting_seconds 1.5`,
	})
}

// TestHotPath holds what runs for each request or order to no allocation at all.
func TestHotPath(t *testing.T) {
	a, w := obs.NewAdmission(prometheus.NewRegistry()), obs.NewWorker(prometheus.NewRegistry())
	route := a.Route("/api/v1/vouchers/{voucherId}/orders")
	route.Answered(http.StatusAccepted, time.Millisecond)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		a.Admitted("", time.Millisecond)
		route.Answered(http.StatusAccepted, time.Millisecond)
		w.Outcome(seckill.Stored)
		w.Stage(obs.StageLock, time.Millisecond)
	}))
}
