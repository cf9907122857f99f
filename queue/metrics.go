package queue

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counters count the work of this process.
type counters struct {
	ends    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newCounters() counters {
	return counters{
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "smolwc_queue_jobs_total",
			Help: "Jobs that workers of this process ended: done, retried, dead, lost (without their lease) or stopped.",
		}, []string{"zone", "type", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "smolwc_queue_job_seconds",
			Help:    "How long jobs ran, by type.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}, []string{"type"}),
	}
}

func (c *counters) count(j *Job, outcome string) {
	c.ends.WithLabelValues(j.Zone(), j.Type(), outcome).Inc()
}

func (c *counters) ran(j *Job, d time.Duration) {
	c.seconds.WithLabelValues(j.Type()).Observe(d.Seconds())
}

var (
	itemsDesc = prometheus.NewDesc("smolwc_queue_items",
		"Items of the queue, by state: ready, delayed, blocked, leased, expired or dead.", []string{"zone", "type", "state"}, nil)
	oldestDesc = prometheus.NewDesc("smolwc_queue_oldest_seconds",
		"For how long the oldest ready item has been visible.", []string{"zone", "type"}, nil)
)

// Describe is a part of [prometheus.Collector].
func (q *Queue) Describe(to chan<- *prometheus.Desc) {
	to <- itemsDesc
	to <- oldestDesc
	q.counters.ends.Describe(to)
	q.counters.seconds.Describe(to)
}

// Collect is a part of [prometheus.Collector]: register the queue for its metrics. It
// counts the items as [Queue.Stats] does. There is a time series for each zone and type
// with items or past jobs.
func (q *Queue) Collect(to chan<- prometheus.Metric) {
	if q == nil || q.db == nil {
		return
	}
	q.counters.ends.Collect(to)
	q.counters.seconds.Collect(to)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	all, err := q.Stats(ctx, "")
	if err != nil {
		to <- prometheus.NewInvalidMetric(itemsDesc, err)
		return
	}
	now := timeOf(q.clock.now())
	for _, s := range all {
		for state, n := range map[string]int{
			"ready": s.Ready, "delayed": s.Delayed, "blocked": s.Blocked, "leased": s.Leased, "expired": s.Expired, "dead": s.Dead,
		} {
			to <- prometheus.MustNewConstMetric(itemsDesc, prometheus.GaugeValue, float64(n), s.Zone, s.Type, state)
		}
		age := 0.0
		if !s.Oldest.IsZero() {
			age = now.Sub(s.Oldest).Seconds()
		}
		to <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, age, s.Zone, s.Type)
	}
}
