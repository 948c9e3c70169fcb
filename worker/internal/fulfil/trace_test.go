package fulfil_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Traces of two requests, and what is none.
const (
	traceA = "00-0af7651916cd43dd8448eb211c80319a-b7ad6b7169203331-01"
	traceB = "00-0af7651916cd43dd8448eb211c80319b-b7ad6b7169203331-01"
	unsent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// handleTraced stores a batch whose entries came with these traceparents.
func handleTraced(t *testing.T, w *world, traceparents ...string) map[string]sdk.ReadOnlySpan {
	t.Helper()
	rec := tracetest.NewSpanRecorder()
	f := w.fulfiller(t)
	f.Tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(rec)).Tracer("test")
	var ds []seckill.Delivery
	for i, traceparent := range traceparents {
		d := w.accept(order(seckill.OrderID(i+1), seckill.UserID(i+42)))
		d.Trace = traceparent
		ds = append(ds, d)
	}
	for _, r := range f.Handle(t.Context(), 0, ds) {
		require.NotEmpty(t, r.Outcome)
	}
	require.Len(t, rec.Ended(), len(rec.Started()), "each span ends")
	spans := map[string]sdk.ReadOnlySpan{}
	for _, s := range rec.Ended() {
		name := s.Name()
		for _, a := range s.Attributes() {
			if a.Key == "seckill.order.id" {
				name = "order " + a.Value.AsString()
			}
		}
		spans[name] = s
	}
	return spans
}

func linked(links []sdk.Link) (ids []trace.SpanID) {
	for _, l := range links {
		ids = append(ids, l.SpanContext.SpanID())
	}
	return ids
}

func TestHandleTraced(t *testing.T) {
	spans := handleTraced(t, newWorld(), "", traceA, "nonsense", traceB, unsent)
	require.Len(t, spans, 3, "of those that are traced, and of the batch")
	first, second, batch := spans["order 2"], spans["order 4"], spans["fulfil.batch"]
	require.Equal(t, "b7ad6b7169203331", first.Parent().SpanID().String())
	require.Equal(t, "0af7651916cd43dd8448eb211c80319b", second.SpanContext().TraceID().String())
	require.Equal(t, first.SpanContext().SpanID(), batch.Parent().SpanID())
	require.Equal(t, []trace.SpanID{second.SpanContext().SpanID()}, linked(batch.Links()))
	require.Equal(t, []trace.SpanID{batch.SpanContext().SpanID()}, linked(first.Links()))
	require.Equal(t, []trace.SpanID{batch.SpanContext().SpanID()}, linked(second.Links()))
}

func TestHandleNotTraced(t *testing.T) {
	require.Empty(t, handleTraced(t, newWorld(), "", "nonsense", unsent))
}

func TestHandleTracedFailure(t *testing.T) {
	w := newWorld()
	w.failAt = 2 // the transaction
	failed := handleTraced(t, w, traceA)["order 1"]
	require.Equal(t, "UNAVAILABLE", failed.Status().Description, "a code, and no words that may name users")
	require.Contains(t, failed.Attributes()[len(failed.Attributes())-1].Value.AsString(), string(seckill.Transient))
}
