package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// traced returns a context with a request's span, and what was recorded so far.
func traced(t *testing.T) (context.Context, *tracetest.SpanRecorder) {
	t.Helper()
	rec := tracetest.NewSpanRecorder()
	ctx, span := sdk.NewTracerProvider(sdk.WithSpanProcessor(rec)).Tracer("test").Start(t.Context(), "request")
	t.Cleanup(func() { span.End() })
	return ctx, rec
}

func entries(t *testing.T, c *redis.Client) (found []map[string]any) {
	t.Helper()
	messages, err := c.XRange(t.Context(), "seckill:stream", "-", "+").Result()
	require.NoError(t, err)
	for _, m := range messages {
		found = append(found, m.Values)
	}
	return found
}

func TestAdmitTraced(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	ctx, rec := traced(t)
	_, err := s.Admit(ctx, order(42, 900))
	require.NoError(t, err)

	span := rec.Ended()[0]
	require.Equal(t, "redisstore.Admit", span.Name())
	require.Equal(t, trace.SpanContextFromContext(ctx).SpanID(), span.Parent().SpanID())
	require.Equal(t, "sent", span.Events()[0].Name)
	for _, a := range span.Attributes() {
		require.NotEqual(t, "42", a.Value.String(), "users are not named")
	}
	want := "00-" + span.SpanContext().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"
	require.Equal(t, []map[string]any{{"id": "900", "userId": "42", "voucherId": "1001", "traceparent": want}}, entries(t, c))
	ds, err := s.Read(t.Context(), 0, "w1", 10, time.Second)
	require.NoError(t, err)
	require.Equal(t, want, ds[0].Trace)

	_, err = s.Admit(ctx, order(42, 901))
	require.ErrorIs(t, err, seckill.AlreadyOrdered)
	require.Zero(t, rec.Ended()[1].Status().Code, "a refusal is an answer")
}

func TestAdmitNotTraced(t *testing.T) {
	unsampled := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	for _, c := range []struct {
		name string
		ctx  context.Context
	}{
		{"without a trace", t.Context()},
		{"with one that is not sampled", trace.ContextWithSpanContext(t.Context(), unsampled)},
		{"with one that is none", trace.ContextWithSpanContext(t.Context(), trace.SpanContext{}.WithTraceFlags(trace.FlagsSampled))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := open(t)
			sell(t, s, voucher, 10)
			_, err := s.Admit(c.ctx, order(42, 900))
			require.NoError(t, err)
			require.Equal(t, []map[string]any{{"id": "900", "userId": "42", "voucherId": "1001"}}, entries(t, client))
		})
	}
}

// Of those who share a run of the script only the traced ones get the field, each their own.
func TestAdmitTracedAmongOthers(t *testing.T) {
	server := redistest.New(t)
	s, c := openAt(t, Options{Addrs: []string{server.Addr()}}), server.ClientOf(t)
	sell(t, s, voucher, 100)
	admit(t, s, order(1000, 1000)) // from now on the server knows the script
	toll := newTollgate(s)
	var g errgroup.Group
	for first := range int64(flightsMax) {
		crowd(t, s, &g, first+1, 1, 0)
		<-toll.sizes
	}
	crowd(t, s, &g, 10, 3, 3)
	ctx, rec := traced(t)
	for i, id := range []int64{20, 21} {
		g.Go(func() error {
			_, err := s.Admit(ctx, order(id, id))
			return err
		})
		crowd(t, s, &g, 30+int64(i), 1, 3+2*(int64(i)+1))
	}
	close(toll.pass)
	require.NoError(t, g.Wait())
	own := map[string]bool{}
	for _, e := range entries(t, c) {
		parent, has := e["traceparent"].(string)
		require.Equal(t, e["id"] == "20" || e["id"] == "21", has, e)
		if has {
			own[parent] = true
		}
	}
	require.Len(t, own, 2)
	for _, span := range rec.Ended() {
		require.EqualValues(t, 7, span.Events()[0].Attributes[0].Value.AsInt64(), "it was sent with all who waited")
	}
	requireBooks(t, s, 100-8-flightsMax, 8+flightsMax)
}

// The field is no part of the order: what stands in it is passed on as it is, and an entry
// that is queued again is one without.
func TestTraceOfAnEntry(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream",
		Values: []string{"id", "900", "userId", "42", "voucherId", "1001", "traceparent", "nonsense"}}).Err())
	ds, err := s.Read(t.Context(), 0, "w1", 10, time.Second)
	require.NoError(t, err)
	require.NoError(t, ds[0].Malformed)
	require.Equal(t, "nonsense", ds[0].Trace)

	buried, err := s.Bury(t.Context(), ds[0], seckill.ReasonWornOut)
	require.NoError(t, err)
	require.True(t, buried)
	require.Contains(t, deads(t, s)[0].Fields, "nonsense", "a buried message keeps all its fields")

	ctx, _ := traced(t)
	admit(t, s, order(43, 901))
	require.NoError(t, c.XTrimMaxLen(t.Context(), "seckill:stream", 0).Err())
	queued, err := s.Requeue(ctx, order(43, 901))
	require.NoError(t, err)
	require.True(t, queued)
	require.Equal(t, []map[string]any{{"id": "901", "userId": "43", "voucherId": "1001"}}, entries(t, c))
}

func BenchmarkAdmit(b *testing.B) {
	server := redistest.New(b)
	s, err := Open(b.Context(), Options{Addrs: []string{server.Addr()}})
	require.NoError(b, err)
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		_, err = s.Admit(b.Context(), order(1, 1))
	}
	require.ErrorIs(b, err, seckill.NotReady)
}
