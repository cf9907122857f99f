package server

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/server/internal/calls"
)

// headers are a call's headers, the client's span among them.
type headers struct{ ctx context.Context }

func (h headers) Get(key string) string {
	if v := metadata.ValueFromIncomingContext(h.ctx, key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (headers) Set(string, string) {}

func (headers) Keys() []string { return nil }

// beginSpan begins the span of a call. There is an interceptor of OpenTelemetry for gRPC; its
// spans have the texts of errors, with row keys, and calls of the JSON API have none.
func (s *Server) beginSpan(ctx context.Context, c *calls.Call, from propagation.TextMapCarrier) context.Context {
	if s.tracer == nil || strings.HasPrefix(c.Method, "grpc.") { // probes of health
		return ctx
	}
	ctx, c.Span = s.tracer.Start(propagation.TraceContext{}.Extract(ctx, from), c.Method, trace.WithSpanKind(trace.SpanKindServer))
	return ctx
}

// traced reports whether there is a span of the call in the end.
func traced(c *calls.Call) bool { return c.Span != nil && c.Span.SpanContext().IsSampled() }

// endSpan ends the span of a call, with its subject, reads and writes.
func (s *Server) endSpan(c *calls.Call, err error, code codes.Code) {
	if c.Span == nil {
		return
	}
	defer c.Span.End()
	if !c.Span.IsRecording() {
		return
	}
	rows, cells, written := c.Counted()
	c.Span.SetAttributes(attribute.String("db.system.name", "smolwc"), attribute.String("rpc.method", c.Method), attribute.String("rpc.response.status_code", code.String()),
		attribute.Int64("smolwc.rows", rows), attribute.Int64("smolwc.cells", cells), attribute.Int64("smolwc.rows_written", written),
		attribute.Int64("smolwc.received_bytes", c.In.Load()), attribute.Int64("smolwc.sent_bytes", c.Out.Load()))
	if t := s.calls.Table(c); t != "" {
		c.Span.SetAttributes(attribute.String("db.collection.name", t))
	}
	if t := c.Token.Load(); t != nil {
		c.Span.SetAttributes(attribute.String("smolwc.token", t.Name))
	}
	if request := c.Request.Load(); request != nil && s.logData && s.calls.Describe != nil {
		c.Span.SetAttributes(attribute.String("db.query.text", s.calls.Describe(request)))
	}
	switch code {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss: // of the server; the others are the client's
		text := ""
		if s.logData {
			text = status.Convert(err).Message()
		}
		c.Span.SetStatus(otelcodes.Error, text)
	}
}
