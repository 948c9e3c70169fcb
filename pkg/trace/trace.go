// Package trace sends the traces of a program to whoever collects them, by OTLP over HTTP,
// as the standard OTEL_ variables say. It owns their checks, the exporter and its bounds, and
// carries a trace over what is no call: a header, a stream entry, a log line. It imports
// package config, for the shape of its errors.
package trace

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// scope names whoever made a span.
const scope = "github.com/openseckill/seckill"

// closeMax is how long the last spans may take to leave: a collector that hangs must not
// hold up a stop.
const closeMax = 3 * time.Second

// Traces are where a program's spans go. Nothing waits for them: what the collector does not
// take fills a queue of OTEL_BSP_MAX_QUEUE_SIZE (2048) spans, and the rest is dropped.
type Traces struct {
	provider *sdk.TracerProvider // nil: off
	log      *slog.Logger
}

// Open reads the OTEL_ variables of environ, which must be those of the process. Traces are
// off unless OTEL_TRACES_EXPORTER or an OTLP endpoint asks for them. A wrong variable is a
// *config.Error that names it. service and version are what OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES do not say otherwise.
func Open(ctx context.Context, service, version string, environ map[string]string, log *slog.Logger) (*Traces, error) {
	if !wanted(environ) {
		return &Traces{log: log}, nil
	}
	if err := check(environ); err != nil {
		return nil, err
	}
	// The SDK says itself what it does not like: with the values, which may be secrets.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(complaints(log))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil { // traces without some of it are better than none
		log.Warn("traces do not tell all about this program", "err", err)
	}
	t := &Traces{sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about)), log}
	log.Info("sending traces")
	return t, nil
}

// complaints logs what goes wrong while spans are sent, once a minute.
func complaints(log *slog.Logger) otel.ErrorHandler {
	seldom := &rate.Sometimes{Interval: time.Minute}
	return otel.ErrorHandlerFunc(func(err error) {
		seldom.Do(func() { log.Warn("traces are lost; more such lines of this minute are left out", "err", err) })
	})
}

// Tracer makes the spans of the program; nil where traces are off.
func (t *Traces) Tracer() trace.Tracer {
	if t.provider == nil {
		return nil
	}
	return t.provider.Tracer(scope)
}

// Close sends what is left, for three seconds at most. What is not sent then is lost.
func (t *Traces) Close(ctx context.Context) {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeMax)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last traces are lost", "err", err)
	}
}
