package trace

import (
	"context"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The W3C headers; baggage is neither read nor passed on.
var w3c propagation.TraceContext

// FromHeader returns ctx as a part of the trace that a request came with. A header that is
// missing or malformed is none.
func FromHeader(ctx context.Context, h http.Header) context.Context {
	return w3c.Extract(ctx, propagation.HeaderCarrier(h))
}

// Join returns ctx as a part of the trace that a stream entry came with, and of no other.
// False: it came with none, or with something else.
func Join(ctx context.Context, traceparent string) (context.Context, bool) {
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	if traceparent == "" {
		return ctx, false
	}
	ctx = w3c.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
	return ctx, trace.SpanContextFromContext(ctx).IsValid()
}

// Logger returns log with the ids of the trace in each line that is written in one. Where
// traces are off it is log itself.
func (t *Traces) Logger(log *slog.Logger) *slog.Logger {
	if t.provider == nil {
		return log
	}
	return slog.New(correlated{log.Handler()})
}

// correlated is a handler that adds the ids by the names that collectors look for.
type correlated struct{ slog.Handler }

func (h correlated) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h correlated) WithAttrs(attrs []slog.Attr) slog.Handler {
	return correlated{h.Handler.WithAttrs(attrs)}
}

func (h correlated) WithGroup(name string) slog.Handler { return correlated{h.Handler.WithGroup(name)} }
