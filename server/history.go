package server

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/server/internal/history"
)

// A HistorySpan is a length of the history of the metrics. Goroutines may share it.
type HistorySpan = history.Span

// A HistorySample sums the metrics of one step of a span.
type HistorySample = history.Sample

// A HistoryTable is the figures of a table in a sample.
type HistoryTable = history.Table

// HistorySpans are the spans that a server keeps, the shortest first.
func HistorySpans() []HistorySpan { return history.Spans[:] }

// HistoryBounds are the bounds of the times in [HistorySample], in seconds. The last
// number of calls there is of those that took longer.
func HistoryBounds() []float64 { return callSeconds }

// History are the samples of a span that begin after a time, the oldest first. It is nil
// without [Options.History].
func (s *Server) History(span HistorySpan, after time.Time) []HistorySample {
	if !s.made() || s.history == nil {
		return nil
	}
	return s.history.Samples(span, after, time.Now())
}

// KeepsHistory reports whether the server runs with [Options.History].
func (s *Server) KeepsHistory() bool { return s.made() && s.history != nil }

// record takes samples until the returned function is called.
func (s *Server) record(ctx context.Context) (stop func()) {
	if s.history == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		db := s.catalog.DB
		s.history.Run(ctx, history.Database{DB: db, Kept: !db.Plumbing().Shared() && s.test == nil && !s.isStandby})
	}()
	return func() {
		cancel()
		<-done
	}
}
