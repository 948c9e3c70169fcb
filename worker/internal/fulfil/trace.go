package fulfil

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/trace"
)

// spans are what a batch leaves in traces: for each order that is traced one in the trace of
// its request, and one for what all share, which can have one parent only: the first of
// them. The others are linked with it, both ways.
type spans struct {
	orders map[int]oteltrace.Span // by place in the batch
	shared oteltrace.Span
}

// begin starts the spans of a batch; nil where nothing of it is traced.
func (f *Fulfiller) begin(ctx context.Context, ds []seckill.Delivery) (context.Context, *spans) {
	if f.Tracer == nil {
		return ctx, nil
	}
	s := &spans{orders: make(map[int]oteltrace.Span)}
	parent := ctx
	var others []oteltrace.Link
	for i, d := range ds {
		own, span := f.beginOrder(ctx, d)
		switch {
		case span == nil:
			continue
		case len(s.orders) == 0:
			parent = own
		default:
			others = append(others, oteltrace.Link{SpanContext: span.SpanContext()})
		}
		s.orders[i] = span
	}
	if len(s.orders) == 0 {
		return ctx, nil
	}
	ctx, s.shared = f.Tracer.Start(parent, "fulfil.batch", oteltrace.WithLinks(others...),
		oteltrace.WithAttributes(semconv.MessagingBatchMessageCount(len(ds))))
	for _, span := range s.orders {
		span.AddLink(oteltrace.Link{SpanContext: s.shared.SpanContext()})
	}
	return ctx, s
}

func (f *Fulfiller) beginOrder(ctx context.Context, d seckill.Delivery) (context.Context, oteltrace.Span) {
	ctx, ok := trace.Join(ctx, d.Trace)
	if !ok {
		return ctx, nil
	}
	ctx, span := f.Tracer.Start(ctx, "fulfil.order", oteltrace.WithSpanKind(oteltrace.SpanKindConsumer))
	if !span.IsRecording() {
		return ctx, nil
	}
	span.SetAttributes(semconv.MessagingSystemKey.String("redis"), semconv.MessagingOperationTypeProcess, semconv.MessagingMessageID(d.Entry),
		attribute.String("seckill.order.id", d.Order.ID.String()), attribute.String("seckill.voucher.id", d.Order.Voucher.String()),
		attribute.Int64("seckill.attempts", d.Attempts))
	return ctx, span
}

// end tells what became of each order.
func (s *spans) end(results []Result) {
	if s == nil {
		return
	}
	for i, span := range s.orders {
		span.SetAttributes(attribute.String("seckill.outcome", string(results[i].Outcome)))
		if err := results[i].Err; err != nil {
			span.SetStatus(codes.Error, string(seckill.CodeOf(err))) // its text may name users
		}
		span.End()
	}
	s.shared.End()
}
