package history

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// BenchmarkSample is the work on a sample, after its metrics were gathered.
func BenchmarkSample(b *testing.B) {
	bytes := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "smolwc_table_bytes"}, []string{"table"})
	times := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "smolwc_operation_seconds"}, []string{"operation"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(bytes, times)
	for i := range 20 {
		bytes.WithLabelValues(string(rune('a' + i))).Set(float64(i))
		times.WithLabelValues("read").Observe(float64(i))
	}
	r, now := New(registry.Gather, slog.New(slog.DiscardHandler)), time.Now()
	for b.Loop() {
		now = now.Add(5 * time.Second)
		r.sample(b.Context(), now)
	}
}
