package route

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/server"
)

// metrics are the router's counts of its calls.
type metrics struct {
	registry *prometheus.Registry
	inFlight prometheus.Gauge
	calls    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	followed prometheus.Counter
	moves    prometheus.Counter
	waiting  prometheus.Gauge
}

func newMetrics(r *Router) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "smolwc_route_calls_in_flight", Help: "Calls under way, streams among them."}),
		calls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "smolwc_route_calls_total", Help: "Calls that have ended, by their methods, the servers that were asked last, and their codes."}, []string{"method", "server", "code"}),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "smolwc_route_call_seconds", Help: "How long calls took, streams until their end, by servers.", Buckets: prometheus.ExponentialBuckets(100e-6, 4, 11)}, []string{"server"}),
		followed: prometheus.NewCounter(prometheus.CounterOpts{Name: "smolwc_route_followed_total", Help: "Calls that were sent to another server, since the one that they were sent to named it."}),
		moves:    prometheus.NewCounter(prometheus.CounterOpts{Name: "smolwc_route_leader_changes_total", Help: "How often another server has begun to lead an instance."}),
		waiting:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "smolwc_route_calls_waiting", Help: "Calls that wait until a server leads their instance."}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "smolwc_route_" + name, Help: help}, value)
	}
	m.registry.MustRegister(m.inFlight, m.calls, m.took, m.followed, m.moves, m.waiting,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("connections", "Connections of clients that are open.", func() float64 { return float64(r.conns.Connections()) }),
		gauge("bytes_in_hand", "Bytes of requests and answers that are held.", func() float64 { return float64(r.conns.BytesInHand()) }),
		gauge("map_instances", "Instances in the shard map.", func() float64 { m, _ := r.o.Map.Map(); return float64(len(m.Resources)) }),
		gauge("map_stale_instances", "Instances that another server leads than the shard map says.", func() float64 { return float64(r.stale()) }),
		gauge("leaderless_instances", "Instances that no server leads, as far as the router knows.", func() float64 { return float64(len(r.leaderless())) }),
		gauge("map_invalid", "1 while the file of the shard map is not valid, so that the map before is in use; 0 otherwise.", func() float64 {
			if r.o.Map.Err() != nil {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "smolwc_route_map_changes_total", Help: "How often a new shard map was taken over."}, func() float64 { return float64(r.o.Map.Changes()) }),
	)
	return m
}

func (m *metrics) ended(t *tally, code codes.Code, took time.Duration) {
	m.inFlight.Dec()
	m.calls.WithLabelValues(t.method, t.server, code.String()).Inc()
	m.took.WithLabelValues(t.server).Observe(took.Seconds())
}

// HTTP are the pages for monitoring:
//
//	/metrics  in Prometheus's form
//	/healthz  200 as long as the process answers
//	/readyz   200 while the router takes calls and knows a server that leads an
//	          instance; 503 otherwise
//
// The first one answers as [server.AnswersTo] says.
func (r *Router) HTTP() http.Handler {
	mux := http.NewServeMux()
	if !r.made() {
		return mux
	}
	metrics := promhttp.HandlerFor(r.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, req *http.Request) {
		if !server.AnswersTo(req) {
			http.Error(w, "this page answers to localhost and to addresses, not to "+req.Host, http.StatusForbidden)
			return
		}
		metrics.ServeHTTP(w, req)
	})
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") } // fails if the client is gone
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		if !r.serving.Load() {
			http.Error(w, "not serving", http.StatusServiceUnavailable)
			return
		}
		none := r.leaderless()
		if m, _ := r.o.Map.Map(); len(none) == len(m.Resources) {
			http.Error(w, "no server leads an instance", http.StatusServiceUnavailable)
			return
		}
		ok(w, req)
		if len(none) > 0 {
			_, _ = fmt.Fprintf(w, "no server leads %s\n", some(none))
		}
	})
	return mux
}
