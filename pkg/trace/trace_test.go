package trace

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/e2e/process"
)

// open opens traces with these settings, "NAME=value", and no others.
func open(t *testing.T, log *slog.Logger, settings ...string) (*Traces, error) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		t.Setenv(name, value)
	}
	return Open(t.Context(), "seckill-api", "v1", config.Environ(), log)
}

func TestOpen(t *testing.T) {
	const there = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for _, c := range []struct {
		name     string
		settings []string
		on       bool
	}{
		{"off without a setting", nil, false},
		{"on with a collector", []string{there}, true},
		{"on with a collector of traces", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1/v1/traces"}, true},
		{"on where it is asked for, at the usual address", []string{"OTEL_TRACES_EXPORTER=otlp"}, true},
		{"off where it is asked for", []string{there, "OTEL_TRACES_EXPORTER=none"}, false},
		{"off with the whole SDK", []string{there, "OTEL_SDK_DISABLED=True"}, false},
		{"off, nothing else matters", []string{"OTEL_TRACES_SAMPLER=nonsense"}, false},
		{"an empty setting is none", []string{there, "OTEL_TRACES_SAMPLER=", "OTEL_BSP_MAX_QUEUE_SIZE="}, true},
		{"every sampler there is", []string{there, "OTEL_TRACES_SAMPLER=ParentBased_TraceIDRatio", "OTEL_TRACES_SAMPLER_ARG=0.01"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			traces, err := open(t, slog.New(slog.DiscardHandler), c.settings...)
			require.NoError(t, err)
			defer traces.Close(t.Context())
			require.Equal(t, c.on, traces.Tracer() != nil)
		})
	}
}

func TestOpenWrongSettings(t *testing.T) {
	_, err := open(t, slog.New(slog.DiscardHandler),
		"OTEL_TRACES_EXPORTER=console", "OTEL_EXPORTER_OTLP_ENDPOINT=https://user:hunter2@", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_EXPORTER_OTLP_HEADERS=Authorization: Bearer hunter2", "OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=zip",
		"OTEL_TRACES_SAMPLER=sometimes", "OTEL_TRACES_SAMPLER_ARG=1%", "OTEL_BSP_MAX_QUEUE_SIZE=-1")
	var wrong *config.Error
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.Faults, 9, "each is named")
	require.ErrorContains(t, err, `OTEL_TRACES_SAMPLER: "sometimes" is no sampler; for example parentbased_traceidratio`)
	require.NotContains(t, err.Error(), "hunter2")
}

// collector keeps what is sent to it.
func collector(t *testing.T) (url string, got <-chan *collect.ExportTraceServiceRequest) {
	t.Helper()
	requests := make(chan *collect.ExportTraceServiceRequest, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent collect.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil && proto.Unmarshal(body, &sent) == nil {
			requests <- &sent
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestClose(t *testing.T) {
	t.Run("it sends what is left", func(t *testing.T) {
		url, got := collector(t)
		traces, err := open(t, slog.New(slog.DiscardHandler), "OTEL_EXPORTER_OTLP_ENDPOINT="+url)
		require.NoError(t, err)
		_, span := traces.Tracer().Start(t.Context(), "last")
		span.End()
		traces.Close(t.Context())
		sent := (<-got).ResourceSpans[0]
		require.Equal(t, "last", sent.ScopeSpans[0].Spans[0].Name)
		require.Contains(t, sent.Resource.String(), "seckill-api")
	})
	t.Run("the service may be called otherwise", func(t *testing.T) {
		url, got := collector(t)
		traces, err := open(t, slog.New(slog.DiscardHandler), "OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_SERVICE_NAME=shop")
		require.NoError(t, err)
		_, span := traces.Tracer().Start(t.Context(), "last")
		span.End()
		traces.Close(t.Context())
		about := (<-got).ResourceSpans[0].Resource.String()
		require.Contains(t, about, "shop")
		require.NotContains(t, about, "seckill-api")
	})
	t.Run("a collector that never answers holds nothing up, and is named", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
		require.NoError(t, err)
		defer silent.Close()
		var said process.Lines // the sender outlives Close
		traces, err := open(t, slog.New(slog.NewTextHandler(&said, nil)), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+silent.Addr().String())
		require.NoError(t, err)
		tracer := traces.Tracer()
		for range 20_000 { // ten times what the queue holds
			_, span := tracer.Start(t.Context(), "one of many")
			span.End()
		}
		began := time.Now()
		traces.Close(t.Context())
		require.Less(t, time.Since(began), 2*closeMax)
		require.Contains(t, said.String(), "the last traces are lost")
	})
}
