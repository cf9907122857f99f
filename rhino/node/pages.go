package node

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/smolwc/smolwc/rhino"
)

// A monitor holds the figures of the monitoring pages.
type monitor struct {
	registry *prometheus.Registry
	answered *prometheus.CounterVec
	took     *prometheus.HistogramVec
	checks   []func() string // each says why clients should send nothing here, "" when they may
}

func newMonitor() *monitor {
	m := &monitor{
		registry: prometheus.NewRegistry(),
		answered: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "smolwc_region_requests_total", Help: "Requests that were answered, by the kinds of the request and of the reply."}, []string{"role", "region", "request", "reply"}),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "smolwc_region_request_seconds", Help: "How long requests took.", Buckets: prometheus.ExponentialBuckets(100e-6, 4, 11)}, []string{"role", "region"}),
	}
	m.registry.MustRegister(m.answered, m.took, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// counting counts the requests of a server that come over connections.
func (m *monitor) counting(role, where string) func(request, reply rhino.Message, took time.Duration) {
	return func(request, reply rhino.Message, took time.Duration) {
		m.answered.WithLabelValues(role, where, rhino.Name(request), rhino.Name(reply)).Inc()
		m.took.WithLabelValues(role, where).Observe(took.Seconds())
	}
}

// gauge adds a figure. Its labels are pairs of a name and a value.
func (m *monitor) gauge(name, help string, value func() float64, labels ...string) {
	o := prometheus.GaugeOpts{Name: "smolwc_region_" + name, Help: help, ConstLabels: prometheus.Labels{}}
	for i := 0; i < len(labels); i += 2 {
		o.ConstLabels[labels[i]] = labels[i+1]
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(o, value))
}

// state adds a figure that is 1 while a condition holds.
func (m *monitor) state(name, help string, holds func() bool, labels ...string) {
	m.gauge(name, help, func() float64 {
		if holds() {
			return 1
		}
		return 0
	}, labels...)
}

// needs keeps the process not ready, for a reason, until a condition holds.
func (m *monitor) needs(holds func() bool, otherwise string) {
	m.checks = append(m.checks, func() string {
		if holds() {
			return ""
		}
		return otherwise
	})
}

// pages are the pages for monitoring.
func (m *monitor) pages() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }) // the client may be gone
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		var why []string
		for _, check := range m.checks {
			if text := check(); text != "" {
				why = append(why, text)
			}
		}
		if len(why) > 0 {
			http.Error(w, strings.Join(why, "\n"), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok") // the client may be gone
	})
	return mux
}
