// Package spans makes spans of OpenTelemetry below a caller's: the cost of a query, a
// read and a write. Without a recorded span in its context a caller pays only for a look at the
// context. Spans have no keys and no values of rows.
package spans

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the name of smolwc's spans in traces.
const Scope = "github.com/smolwc/smolwc"

// Begin begins a span below the context's, nil if that is not recorded. The returned
// context carries the span.
func Begin(ctx context.Context, name string, about ...attribute.KeyValue) (context.Context, trace.Span) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, nil
	}
	return above.TracerProvider().Tracer(Scope).Start(ctx, name, trace.WithAttributes(about...))
}

// End ends a span of Begin. It says that there was an error, but not which: texts of errors
// have keys and values.
func End(s trace.Span, err error, about ...attribute.KeyValue) {
	if s == nil {
		return
	}
	s.SetAttributes(about...)
	if err != nil {
		s.SetStatus(codes.Error, "")
	}
	s.End()
}
