package e2e

import (
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is what a collector was told, with the program that told it.
type span struct {
	*otlp.Span
	service string
}

// said is an attribute of the span as a text, "" if there is none.
func (s span) said(key string) string { return text(s.Attributes, key) }

func text(attributes []*common.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// collector is an OTLP receiver.
type collector struct {
	t     testing.TB
	url   string
	mu    sync.Mutex
	spans []span
}

func newCollector(t testing.TB) *collector {
	t.Helper()
	c := &collector{t: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent collect.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err != nil || proto.Unmarshal(body, &sent) != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, from := range sent.ResourceSpans {
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, span{s, text(from.Resource.Attributes, "service.name")})
			}
		}
	}
}

// one is the only span of a name in a trace.
func (c *collector) one(trace, name string) span {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []span
	for _, s := range c.spans {
		if s.Name == name && hex.EncodeToString(s.TraceId) == trace {
			found = append(found, s)
		}
	}
	require.Len(c.t, found, 1, "%s in %s", name, trace)
	return found[0]
}

const (
	traceA, traceB, traceC = "0af7651916cd43dd8448eb211c80319a", "0af7651916cd43dd8448eb211c80319b", "0af7651916cd43dd8448eb211c80319c"
	asking                 = "b7ad6b7169203331" // the span of the page that asks
	buying                 = "POST /api/v1/vouchers/:voucherId/orders"
)

// buyTraced buys with a page's traceparent, and returns the order.
func (s *stack) buyTraced(voucher string, user int64, traceparent string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.api+"/api/v1/vouchers/"+voucher+"/orders", http.NoBody)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token(s.t, user, ""))
	r.Header.Set("Traceparent", traceparent)
	r.Header.Set("Baggage", "buyer=somebody")
	resp, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	require.Equal(s.t, http.StatusAccepted, resp.StatusCode)
	return strings.TrimPrefix(resp.Header.Get("Location"), "/api/v1/orders/")
}

// One trace leads from the page through both programs to the transaction. What a batch shares
// is in the trace of its first order, and linked with the others.
func TestTrace(t *testing.T) {
	t.Parallel()
	s, c := newStack(t), newCollector(t)
	tracing := "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url
	api := s.startAPI(tracing)
	voucher := s.createOpen(10)
	order := s.buyTraced(voucher, 9876543210001, "00-"+traceA+"-"+asking+"-01")
	s.buyTraced(voucher, 9876543210002, "00-"+traceB+"-"+asking+"-01")
	s.buyTraced(voucher, 9876543210003, "00-"+traceC+"-"+asking+"-00") // the page chose not to
	s.buyTraced(voucher, 9876543210004, "nonsense")                    // the first of a new trace
	entries := s.redis.XRange(t.Context(), "seckill:stream", "-", "+").Val()
	require.Len(t, entries, 4)
	require.NotContains(t, entries[2].Values, "traceparent")

	worker := s.start("worker", tracing)
	s.drained()
	worker.stop() // and what it has to say is sent
	api.stop()

	request, admit := c.one(traceA, buying), c.one(traceA, "redisstore.Admit")
	stored, batch, tx := c.one(traceA, "fulfil.order"), c.one(traceA, "fulfil.batch"), c.one(traceA, "sqlstore.transaction")
	require.Equal(t, asking, hex.EncodeToString(request.ParentSpanId))
	require.Equal(t, request.SpanId, admit.ParentSpanId)
	require.Equal(t, admit.SpanId, stored.ParentSpanId, "over the stream")
	require.Equal(t, stored.SpanId, batch.ParentSpanId)
	require.Equal(t, batch.SpanId, tx.ParentSpanId)
	require.Equal(t, []string{"seckill-api", "seckill-api", "seckill-worker", "seckill-worker"},
		[]string{request.service, admit.service, stored.service, tx.service})
	require.Equal(t, []string{order, order, voucher, "stored"}, []string{
		admit.said("seckill.order.id"), stored.said("seckill.order.id"), stored.said("seckill.voucher.id"), stored.said("seckill.outcome"),
	})

	second := c.one(traceB, "fulfil.order")
	require.Equal(t, c.one(traceB, "redisstore.Admit").SpanId, second.ParentSpanId)
	require.Equal(t, batch.SpanId, second.Links[0].SpanId, "the second order shared the batch")
	require.Len(t, batch.Links, 2, "with the second and the fourth")
	require.Equal(t, second.SpanId, batch.Links[0].SpanId)

	for _, s := range c.spans {
		require.NotEqual(t, traceC, hex.EncodeToString(s.TraceId))
		require.NotContains(t, s.String(), "somebody", "baggage")
		require.NotContains(t, s.String(), "987654321000", "users are not named")
	}
}

// A collector that takes connections and says nothing costs no answer, and a stop some seconds.
func TestTraceCollectorHangs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	tracing := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String(), "OTEL_BSP_MAX_QUEUE_SIZE=32", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=8"}
	api, worker := s.startAPI(tracing...), s.start("worker", tracing...)
	voucher := s.createOpen(300)
	users := upTo(300)
	counts, accepted := sort(t, users, s.each(voucher, users...))
	require.Equal(t, map[string]int{"202": 300}, counts)
	s.drained()
	s.law(voucher, 300, 300, accepted)
	programs := []*program{worker, api}
	for _, p := range programs {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range programs {
		require.NoError(t, p.ends(), p.out)
		require.Contains(t, p.out.String(), "the last traces are lost")
	}
}
