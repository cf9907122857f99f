package history

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// A Recorder takes samples. Goroutines may read them while it runs. A nil Recorder keeps
// no history.
type Recorder struct {
	gather func() ([]*dto.MetricFamily, error)
	keeper keeper
	logger *slog.Logger

	mu    sync.Mutex
	rings [len(Spans)]ring
	last  *Sample // the reading before
	when  time.Time
}

// A ring is the samples of a span, encoded, each in the slot of its time.
type ring struct {
	slots [][]byte // nil without a sample
	at    []int64
	now   *Sample // the newest one
}

func (r *ring) put(slot int, at int64, text []byte) { r.slots[slot], r.at[slot] = text, at }

// slotOf is the slot of the step that begins at a time.
func slotOf(s Span, at int64) int {
	n := at / int64(s.Step/time.Second) % int64(s.Slots)
	return int((n + int64(s.Slots)) % int64(s.Slots))
}

// New makes a recorder of the metrics that gather gives.
func New(gather func() ([]*dto.MetricFamily, error), logger *slog.Logger) *Recorder {
	r := &Recorder{gather: gather, logger: logger}
	for i, s := range Spans {
		r.rings[i] = ring{slots: make([][]byte, s.Slots), at: make([]int64, s.Slots)}
	}
	return r
}

// Run takes samples until the context ends, and then keeps the last ones. It first loads
// the samples from the database; without a database the history is in memory only.
func (r *Recorder) Run(ctx context.Context, from Database) {
	if from.DB != nil {
		if err := r.load(ctx, from); err != nil && ctx.Err() == nil {
			r.logger.Warn("cannot read the history of the metrics; it begins anew", "error", err)
		}
	}
	tick := time.NewTicker(Spans[0].Step)
	defer tick.Stop()
	r.sample(ctx, time.Now())
	for {
		select {
		case <-ctx.Done():
			if r.keeper.estimated != nil {
				r.keeper.take(<-r.keeper.estimated) // ended, too
				r.keeper.estimated = nil
			}
			if last := context.WithoutCancel(ctx); r.keeper.made { // a server of a moment leaves nothing
				r.keeper.ending = true
				r.sample(last, time.Now())
				r.keeper.end(last)
			}
			return
		case now := <-tick.C:
			r.sample(ctx, now)
		}
	}
}

// sample takes a sample of the time since the last one.
func (r *Recorder) sample(ctx context.Context, now time.Time) {
	families, err := r.gather()
	if err != nil {
		r.logger.Debug("cannot take a sample of the metrics", "error", err)
		return
	}
	read := reading(families)
	r.keeper.countRows(ctx, read.Tables, now)
	r.mu.Lock()
	before, since := r.last, r.when
	r.last, r.when = read, now
	if before == nil {
		r.mu.Unlock()
		return
	}
	d := read.since(before)
	d.Seconds = now.Sub(since).Seconds()
	// A step that the sample ends in the first half of is not the one that it is of.
	middle := now.Add(-now.Sub(since) / 2).Unix()
	var kept []row
	for i, s := range Spans {
		kept = append(kept, r.rings[i].add(s, middle, d)...)
	}
	r.mu.Unlock()
	r.keeper.keep(ctx, kept, now, r.logger)
}

// add adds to the sample of a time. It returns the row of the sample.
func (r *ring) add(s Span, at int64, d *Sample) []row {
	at -= at % int64(s.Step/time.Second)
	slot := slotOf(s, at)
	if r.now == nil || r.now.At != at {
		r.now = &Sample{At: at}
		if r.at[slot] == at { // from before the server was started
			_ = json.Unmarshal(r.slots[slot], r.now) // it was read before
		}
	}
	r.now.add(d)
	text, err := json.Marshal(r.now)
	if err != nil {
		return nil // a metric is not a number
	}
	r.put(slot, at, text)
	return []row{{s, slot, text}}
}

// Samples returns the samples of a span that begin after a time, oldest first.
func (r *Recorder) Samples(s Span, after, now time.Time) (found []Sample) {
	i := slices.Index(Spans[:], s)
	if r == nil || i < 0 {
		return nil
	}
	oldest := max(after.Unix()+1, now.Add(-s.Step*time.Duration(s.Slots)).Unix())
	r.mu.Lock()
	var texts [][]byte
	for slot, text := range r.rings[i].slots {
		if at := r.rings[i].at[slot]; text != nil && at >= oldest && at <= now.Unix() {
			texts = append(texts, text)
		}
	}
	r.mu.Unlock()
	for _, text := range texts { // they are not changed
		var sample Sample
		if json.Unmarshal(text, &sample) == nil {
			found = append(found, sample)
		}
	}
	slices.SortFunc(found, func(a, b Sample) int { return int(a.At - b.At) })
	return found
}
