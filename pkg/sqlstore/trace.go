package sqlstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// begin starts a transaction as a part of the caller's trace. Where that is not recorded it
// costs a look at the context, and what it returns does nothing.
func (s *Store) begin(ctx context.Context) (context.Context, trace.Span) {
	caller := trace.SpanFromContext(ctx)
	if !caller.IsRecording() {
		return ctx, caller
	}
	system := semconv.DBSystemNameMySQL
	if s.dialect == SQLite {
		system = semconv.DBSystemNameSQLite
	}
	return caller.TracerProvider().Tracer("github.com/openseckill/seckill/pkg/sqlstore").Start(ctx, "sqlstore.transaction",
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(system))
}

// end says how a transaction ended. Of an error only the server's number is noted: its text
// repeats what was to be stored, users among it.
func end(span trace.Span, err error) {
	if !span.IsRecording() {
		return
	}
	if err != nil {
		span.SetStatus(codes.Error, "rolled back")
	}
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		span.SetAttributes(semconv.DBResponseStatusCode(strconv.Itoa(int(my.Number))))
	}
	span.End()
}
