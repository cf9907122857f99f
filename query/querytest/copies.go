package querytest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Copies copies databases beside random writes, from places of one kind to places of
// another: copies are interrupted, and go on. At the end the databases are equal, cell by
// cell and by what a user reads. If followed, the source keeps a log of changes, and the
// copies follow it.
func Copies(t *testing.T, from, to func() Place, followed bool) {
	rapid.Check(t, func(t *rapid.T) {
		h := newCopies(t, from(), to(), followed)
		defer h.end(t)
		h.write(t, 20)
		for range rapid.IntRange(0, 2).Draw(t, "interruptions") {
			h.interrupt(t)
			h.write(t, 5)
		}
		if followed {
			h.follow(t)
			mustEqual(t, h.from, h.to)
		}
		h.copy(t)
		mustEqual(t, h.from, h.to)
		if plan := schema.Diff(h.from.Schema(), h.to.Schema()); !plan.Empty() {
			t.Fatalf("the schemas differ: %s", plan)
		}
	})
}

// A copies is a database and its copy.
type copies struct {
	from, to *query.DB
	places   [2]Place
	followed bool
}

func newCopies(t *rapid.T, from, to Place, followed bool) *copies {
	h := &copies{places: [2]Place{from, to}, followed: followed}
	stream := time.Duration(0)
	if followed {
		stream = 24 * time.Hour
	}
	var err error
	h.from, err = from.Open(query.Options{Schema: movable(stream)})
	must(t, err)
	h.to, err = to.Open(query.Options{})
	must(t, err)
	return h
}

func (h *copies) end(t *rapid.T) {
	must(t, h.from.Close())
	must(t, h.to.Close())
	for _, p := range h.places {
		p.Remove()
	}
}

func (h *copies) write(t *rapid.T, n int) { must(t, writeRandomly(context.Background(), t, h.from, n)) }

// interrupt ends a copy after some steps.
func (h *copies) interrupt(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	steps := rapid.IntRange(0, 3).Draw(t, "steps")
	_, err := h.to.CopyFrom(ctx, h.from, query.CopyOptions{Follow: h.followed, Unfinished: true, Progress: func(query.CopyProgress) {
		if steps--; steps < 0 {
			cancel()
		}
	}})
	if err != nil && query.KindOf(err) != query.KindCanceled {
		t.Fatal(err)
	}
}

// copy ends the copy.
func (h *copies) copy(t *rapid.T) {
	_, err := h.to.CopyFrom(context.Background(), h.from, query.CopyOptions{Follow: h.followed, UntilEqual: h.followed})
	must(t, err)
}

// follow writes beside a copy that follows, and ends it when it caught up.
func (h *copies) follow(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last atomic.Int64
	done := make(chan error, 1)
	go func() {
		_, err := h.to.CopyFrom(ctx, h.from, query.CopyOptions{Follow: true, Progress: func(p query.CopyProgress) {
			if at := last.Load(); at > 0 && int64(p.Through) > at {
				cancel()
			}
		}})
		done <- err
	}()
	h.write(t, 20)
	last.Store(int64(h.from.Now()))
	if err := <-done; query.KindOf(err) != query.KindCanceled {
		t.Fatal(err)
	}
}

// movable is a table with everything that a family can have.
func movable(stream time.Duration) *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "t", ChangeStream: stream, Families: []schema.Family{
			{Name: "any"},
			{Name: "last", Type: cells.TypeI64, GC: schema.MaxVersions(2)},
			{Name: "seen", Aggregate: schema.AggregateHLL},
			{Name: "sum", Aggregate: schema.AggregateSum},
		}},
		{Name: "u", ChangeStream: stream, Families: []schema.Family{{Name: "f", GC: schema.MaxAge(time.Hour)}}},
	}}
}

// fataler is a testing.T or a rapid.T.
type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// mustEqual compares two databases cell by cell, and by what a user reads.
func mustEqual(t fataler, of, and *query.DB) {
	c, err := of.Compare(context.Background(), and, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Equal() {
		t.Fatalf("%d cells differ: %+v; %s", c.Count, c.Differences, c.Schema)
	}
	for _, table := range of.Schema().Tables {
		if a, b := printed(t, of, table.Name), printed(t, and, table.Name); a != b {
			t.Fatalf("table %s is\n%snot\n%s", table.Name, b, a)
		}
	}
}

func printed(t fataler, db *query.DB, table string) string {
	var b strings.Builder
	for row, err := range db.Table(table).ReadRows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			fmt.Fprintf(&b, "%q %s:%q@%d %v\n", row.Key(), c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
	}
	return b.String()
}

// writeRandomly writes n batches of random changes.
func writeRandomly(ctx context.Context, t *rapid.T, db *query.DB, n int) error {
	rows, columns := rapid.SampledFrom([]string{"a", "b", "b\x00", "c"}), rapid.SampledFrom([]string{"", "q", "r"})
	ts := rapid.SampledFrom([]cells.Timestamp{1, 2, 3, db.Now() - 1, cells.MaxTimestamp - 1})
	for range n {
		b := write.NewBatch()
		for range rapid.IntRange(1, 3).Draw(t, "rows") {
			m, table := write.NewMutation(), "t"
			switch rapid.IntRange(0, 9).Draw(t, "change") {
			case 0, 1:
				m.SetAt("any", columns.Draw(t, "q"), ts.Draw(t, "ts"), cells.String(rapid.String().Draw(t, "v")))
			case 2, 3:
				m.SetAt("last", columns.Draw(t, "q"), ts.Draw(t, "ts"), cells.I64(rapid.Int64().Draw(t, "v")))
			case 4:
				m.Add("sum", columns.Draw(t, "q"), cells.I64(rapid.Int64Range(-5, 5).Draw(t, "v")))
			case 5:
				m.Add("seen", columns.Draw(t, "q"), cells.I64(rapid.Int64Range(0, 50).Draw(t, "v")))
			case 6:
				table = "u"
				m.SetAt("f", columns.Draw(t, "q"), db.Now()-cells.Timestamp(rapid.Int64Range(0, 2*time.Hour.Microseconds()).Draw(t, "age")), cells.Bool(true))
			case 7:
				m.DeleteCellsInColumn(rapid.SampledFrom([]string{"any", "last", "sum"}).Draw(t, "f"), columns.Draw(t, "q"))
			case 8:
				m.DeleteTimestampRange("last", columns.Draw(t, "q"), 2, 0)
			case 9:
				m.DeleteRow()
			}
			b.Add(table, rows.Draw(t, "row"), m)
		}
		if err := db.Apply(ctx, b); err != nil {
			return err
		}
	}
	return nil
}
