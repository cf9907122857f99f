package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

// tracesFlags say where a server sends traces.
type tracesFlags struct {
	to    string
	share float64
	given *pflag.FlagSet
}

func (f *tracesFlags) add(flags *pflag.FlagSet) {
	f.given = flags
	flags.StringVar(&f.to, "traces", "", "send traces of calls to `URL`, a collector of OpenTelemetry that speaks OTLP over HTTP, as in http://127.0.0.1:4318 (default none)")
	flags.Float64Var(&f.share, "traces-share", 0.01, "with --traces: trace `SHARE` of the calls, from 0 to 1; a client that traces a call decides for it")
}

func (f *tracesFlags) check() error {
	switch u, err := url.Parse(f.to); {
	case f.to == "" && f.given.Changed("traces-share"):
		return errors.New("--traces-share goes with --traces URL")
	case f.to == "":
		return nil
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("--traces is %q; want the URL of a collector, as in http://127.0.0.1:4318", f.to)
	case !(f.share >= 0 && f.share <= 1):
		return fmt.Errorf("--traces-share is %v; it must be from 0 to 1", f.share)
	}
	return nil
}

// lastTraces is how long a server that stops waits for the collector.
const lastTraces = time.Second

// provider sends traces until close is called. A collector that is away costs spans, and a
// line of the log in a minute.
func (f *tracesFlags) provider(ctx context.Context, logger *slog.Logger) (p *trace.TracerProvider, closing func(), err error) {
	u, err := url.Parse(f.to)
	if err != nil {
		return nil, nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "smolwc"), attribute.String("service.version", version())), resource.WithFromEnv())
	if err != nil {
		return nil, nil, err
	}
	sometimes := rate.Sometimes{Interval: time.Minute}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		sometimes.Do(func() { logger.Warn("traces are lost", "to", u.Redacted(), "error", err) })
	}))
	p = trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about), trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(f.share))))
	return p, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}, nil
}
