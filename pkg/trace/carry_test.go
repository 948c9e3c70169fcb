package trace

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = "00-" + traceID + "-b7ad6b7169203331-01"
)

var malformed = []string{"", "nonsense", parent[:54], parent + "-00", "ff" + parent[2:], "00-00000000000000000000000000000000-b7ad6b7169203331-01"}

func other(t *testing.T) context.Context {
	id := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled}
	return trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(id))
}

func TestJoin(t *testing.T) {
	ctx, ok := Join(other(t), parent)
	require.True(t, ok)
	require.Equal(t, traceID, trace.SpanContextFromContext(ctx).TraceID().String())
	require.True(t, trace.SpanContextFromContext(ctx).IsSampled())
	for _, m := range malformed {
		ctx, ok := Join(other(t), m)
		require.False(t, ok, m)
		require.False(t, trace.SpanContextFromContext(ctx).IsValid(), "it is not the other one's, either")
	}
}

func TestFromHeader(t *testing.T) {
	ctx := FromHeader(t.Context(), http.Header{"Traceparent": {parent}, "Tracestate": {"shop=1"}, "Baggage": {"user=42"}})
	c := trace.SpanContextFromContext(ctx)
	require.Equal(t, traceID, c.TraceID().String())
	require.Equal(t, "shop=1", c.TraceState().String())
	for _, m := range malformed {
		ctx := FromHeader(t.Context(), http.Header{"Traceparent": {m}})
		require.Equal(t, t.Context(), ctx, m)
	}
}

func TestLogger(t *testing.T) {
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	require.Same(t, log, (&Traces{}).Logger(log), "off it costs nothing")

	log = (&Traces{provider: sdk.NewTracerProvider()}).Logger(log).With("program", "api").WithGroup("request")
	ctx, _ := Join(t.Context(), parent)
	log.WarnContext(ctx, "in a trace")
	log.WarnContext(t.Context(), "in none")
	require.Contains(t, said.String(), "trace_id="+traceID+" ")
	require.Equal(t, 1, bytes.Count(said.Bytes(), []byte("trace_id")))
}
