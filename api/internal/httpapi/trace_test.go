package httpapi_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// trace makes the shop's API trace, and returns what it recorded.
func (s *shop) trace(o ...sdk.TracerProviderOption) *tracetest.SpanRecorder {
	rec := tracetest.NewSpanRecorder()
	s.tracer = sdk.NewTracerProvider(append(o, sdk.WithSpanProcessor(rec))...).Tracer("test")
	return rec
}

func TestTraceOfARequest(t *testing.T) {
	const buy = "POST /api/v1/vouchers/:voucherId/orders"
	for _, c := range []struct {
		name         string
		admit        error
		method, path string
		span         string
		status       int
		code         seckill.Code
		failed       codes.Code
	}{
		{"accepted", nil, "POST", buyPath, buy, 202, "", codes.Unset},
		{"a refusal is no failure", coded(seckill.SoldOut), "POST", buyPath, buy, 409, seckill.SoldOut, codes.Unset},
		{"an outage is one", down, "POST", buyPath, buy, 503, seckill.Unavailable, codes.Error},
		{"a call through the framework", nil, "GET", "/api/v1/vouchers/1001", "GET /api/v1/vouchers/:voucherId", 404, seckill.VoucherNotFound, codes.Unset},
		{"a path of the caller's choice is not named", nil, "GET", "/me@example.com", "unmatched", 404, "ROUTE_NOT_FOUND", codes.Unset},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shop{admit: says(seckill.Admission{Order: 7}, c.admit), voucher: func(seckill.VoucherID) (seckill.Voucher, error) { return seckill.Voucher{}, seckill.VoucherNotFound }}
			rec := s.trace()
			w := s.open(t).do(c.method, c.path, "", as(t, 4242424242, auth.NoRole)...)
			require.Equal(t, c.status, w.Code)
			require.Len(t, rec.Ended(), 1)
			span := rec.Ended()[0]
			require.Equal(t, c.span, span.Name())
			require.Equal(t, trace.SpanKindServer, span.SpanKind())
			require.Equal(t, c.failed, span.Status().Code)
			said := attribute.NewSet(span.Attributes()...)
			status, _ := said.Value("http.response.status_code")
			code, _ := said.Value("seckill.code")
			require.EqualValues(t, c.status, status.AsInt64())
			require.Equal(t, string(c.code), code.AsString())
			for _, a := range span.Attributes() {
				require.NotContains(t, a.Value.String(), "4242424242")
				require.NotContains(t, a.Value.String(), "example.com")
			}
		})
	}
}

func TestTraceGoesOn(t *testing.T) {
	const page = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	for _, c := range []struct {
		name, header string
		sampler      sdk.Sampler
		joined, seen bool
	}{
		{"the page's trace", page + "01", sdk.ParentBased(sdk.NeverSample()), true, true},
		{"a page that chose not to", page + "00", sdk.ParentBased(sdk.AlwaysSample()), true, false},
		{"an own choice, whatever pages say", page + "01", sdk.NeverSample(), true, false},
		{"nonsense begins a new one", "nonsense", sdk.ParentBased(sdk.AlwaysSample()), false, true},
		{"none begins a new one", "", sdk.ParentBased(sdk.AlwaysSample()), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var inside trace.SpanContext
			s := shop{admit: func(ctx context.Context, o seckill.Order) (seckill.Admission, error) {
				inside = trace.SpanContextFromContext(ctx)
				return seckill.Admission{Order: o.ID}, nil
			}}
			rec := s.trace(sdk.WithSampler(c.sampler))
			w := s.open(t).do("POST", buyPath, "", append(as(t, 42, auth.NoRole), "Traceparent", c.header)...)
			require.Equal(t, http.StatusAccepted, w.Code)
			require.Equal(t, c.joined, inside.TraceID().String() == "0af7651916cd43dd8448eb211c80319c")
			require.Equal(t, c.seen, inside.IsSampled())
			require.Equal(t, c.seen, len(rec.Ended()) == 1)
		})
	}
}

func BenchmarkBuyTraced(b *testing.B) {
	for name, sampler := range map[string]sdk.Sampler{"none of them": sdk.NeverSample(), "each": sdk.AlwaysSample()} {
		b.Run(name, func(b *testing.B) {
			s := shop{admit: says(seckill.Admission{}, nil)}
			s.tracer = sdk.NewTracerProvider(sdk.WithSampler(sampler)).Tracer("test")
			r := s.open(b)
			header := as(b, 42, auth.NoRole)
			b.ReportAllocs()
			for b.Loop() {
				r.do("POST", buyPath, "", header...)
			}
		})
	}
}
