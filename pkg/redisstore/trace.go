package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/seckill"
)

// traceField is the optional field of an entry by which a worker goes on with the trace of
// the request that was admitted. Entries of requests that are not traced do not have it.
const traceField = "traceparent"

// begin starts a part of the caller's trace, named by its place as errors are. Where the
// caller's is not recorded it costs a look at the context, and what it returns does nothing.
func begin(ctx context.Context, op string, kind trace.SpanKind) (context.Context, trace.Span) {
	caller := trace.SpanFromContext(ctx)
	if !caller.IsRecording() {
		return ctx, caller
	}
	return caller.TracerProvider().Tracer("github.com/openseckill/seckill/pkg/redisstore").Start(ctx, op,
		trace.WithSpanKind(kind), trace.WithAttributes(semconv.DBSystemNameRedis, semconv.DBOperationName("EVALSHA")))
}

// end says how a part of a trace ended. Refusals are answers; only what may be asked again,
// or is a bug, is an error. Users are not named: a trace leaves the house, and the order
// leads to its user for whoever may know.
func end(span trace.Span, o seckill.Order, err error) {
	if !span.IsRecording() {
		return
	}
	if o.ID != 0 { // as texts: what draws traces rounds numbers
		span.SetAttributes(attribute.String("seckill.order.id", o.ID.String()), attribute.String("seckill.voucher.id", o.Voucher.String()))
	}
	switch code := seckill.CodeOf(err); code {
	case "":
	case seckill.Unavailable, seckill.Internal, seckill.Overloaded:
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(semconv.ErrorTypeKey.String(string(code)))
	default:
		span.SetAttributes(attribute.String("seckill.code", string(code)))
	}
	span.End()
}

// sent notes in the traces of a batch when it left, and with how many others.
func sent(batch []*admitting) {
	for _, a := range batch {
		if a.trace != "" {
			trace.SpanFromContext(a.ctx).AddEvent("sent", trace.WithAttributes(semconv.DBOperationBatchSize(len(batch))))
		}
	}
}

// replicated notes how many replicas held an order when it was answered.
func replicated(a *admitting, held *redis.IntCmd) {
	if a.trace != "" {
		trace.SpanFromContext(a.ctx).AddEvent("replicated", trace.WithAttributes(attribute.Int64("seckill.replicas", held.Val())))
	}
}

// traceparent is the W3C header of a context that is traced, else "".
func traceparent(ctx context.Context) string {
	c := trace.SpanContextFromContext(ctx)
	if !c.IsValid() || !c.IsSampled() {
		return ""
	}
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}
