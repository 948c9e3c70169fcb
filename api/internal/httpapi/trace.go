package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/trace"
)

// trace makes the request a part of the trace that it came with, or the first of a new one.
// Neither who asks nor from where is noted: a trace leaves the house.
func (a *API) trace(c *gin.Context) {
	name := "unmatched" // as in the metrics: the path is the caller's choice
	if c.FullPath() != "" {
		name = c.Request.Method + " " + c.FullPath()
	}
	ctx, span := a.tracer.Start(trace.FromHeader(c.Request.Context(), c.Request.Header), name, oteltrace.WithSpanKind(oteltrace.SpanKindServer))
	defer span.End()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
	if !span.IsRecording() {
		return
	}
	if c.FullPath() != "" {
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(c.Request.Method), semconv.HTTPRoute(c.FullPath()), semconv.URLPath(c.Request.URL.Path))
	}
	status := c.Writer.Status()
	span.SetAttributes(semconv.HTTPResponseStatusCode(status), attribute.String("seckill.request.id", requestID(c)))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}

// traceCode notes the code that a request is refused with.
func traceCode(ctx context.Context, code seckill.Code, status int) {
	span := oteltrace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("seckill.code", string(code)))
	if status >= http.StatusInternalServerError {
		span.SetAttributes(semconv.ErrorTypeKey.String(string(code)))
	}
}
