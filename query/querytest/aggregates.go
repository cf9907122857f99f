package querytest

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Aggregates makes random adds and deletes, with flushes, compactions and reopening, and
// compares the aggregates with a model that keeps all that was added.
func Aggregates(t *testing.T, places func() Place) {
	p := places()
	defer p.Remove()
	h := &aggregateHistory{place: p}
	h.open(t)
	defer func() { must(t, h.db.Close()) }()
	rapid.Check(t, func(t *rapid.T) {
		must(t, h.db.TruncateTable(context.Background(), "hits"))
		h.model = aggregateModel{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			h.step(t)
			h.check(t)
		}
	})
}

// An aggregateHistory is a database and a model with the same operations.
type aggregateHistory struct {
	place Place
	db    *query.DB
	model aggregateModel
}

func (h *aggregateHistory) open(t interface{ Fatal(...any) }) {
	table := schema.Table{Name: "hits", Families: []schema.Family{
		{Name: "pages", Aggregate: schema.AggregateSum},
		{Name: "first", Aggregate: schema.AggregateMin},
		{Name: "last", Aggregate: schema.AggregateMax},
		{Name: "users", Aggregate: schema.AggregateHLL},
	}}
	db, err := h.place.Open(query.Options{Schema: &schema.Schema{Tables: []schema.Table{table}}})
	must(t, err)
	h.db = db
}

func (h *aggregateHistory) step(t *rapid.T) {
	ctx, hits := context.Background(), h.db.Table("hits")
	row := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "row")
	switch n := rapid.IntRange(0, 14).Draw(t, "operation"); {
	case n < 9:
		m := write.NewMutation()
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			drawAggregateChange(t, m, h.model, row)
		}
		must(t, hits.Apply(ctx, row, m))
	case n < 12:
		must(t, hits.Flush(ctx))
	case n < 13:
		must(t, hits.Compact(ctx))
	case n < 14:
		must(t, h.db.Close())
		h.open(t)
	default:
		must(t, hits.DeleteRange(ctx, read.Prefix(row)))
		h.model.delete(func(id cellID) bool { return id.row == row })
	}
}

func (h *aggregateHistory) check(t *rapid.T) {
	var shown []string
	for row, err := range h.db.Table("hits").ReadRows(context.Background()) {
		must(t, err)
		for c := range row.Cells() {
			shown = append(shown, fmt.Sprintf("%s/%s@%d=%s", row.Key(), c.Column(), c.Timestamp, c.Value))
		}
	}
	if got, want := strings.Join(shown, " "), h.model.shown(); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// An aggregateModel keeps all added values in its cells.
type aggregateModel map[cellID][]cells.Value

func (m aggregateModel) shown() string {
	var shown []string
	for _, id := range slices.SortedFunc(maps.Keys(m), compareIDs) {
		shown = append(shown, fmt.Sprintf("%s/%s:%s@%d=%d", id.row, id.family, id.qualifier, id.ts, naiveAggregate(id.family, m[id])))
	}
	return strings.Join(shown, " ")
}

func naiveAggregate(family string, added []cells.Value) int64 {
	sum, distinct := new(big.Int), map[int64]bool{}
	var all []int64
	for _, v := range added {
		n, _ := v.AsI64()
		all = append(all, n)
		distinct[n] = true
		sum.Add(sum, big.NewInt(n))
	}
	switch family {
	case "first":
		return slices.Min(all)
	case "last":
		return slices.Max(all)
	case "users":
		return int64(len(distinct))
	}
	return sum.Int64()
}

func (m aggregateModel) delete(doomed func(cellID) bool) {
	maps.DeleteFunc(m, func(id cellID, _ []cells.Value) bool { return doomed(id) })
}

func drawAggregateChange(rt *rapid.T, m *write.Mutation, model aggregateModel, row string) {
	id := cellID{
		row:       row,
		family:    rapid.SampledFrom([]string{"first", "last", "pages", "users"}).Draw(rt, "family"),
		qualifier: rapid.SampledFrom([]string{"", "q"}).Draw(rt, "qualifier"),
		ts:        rapid.SampledFrom([]cells.Timestamp{0, 1, 1 << 62, cells.MaxTimestamp}).Draw(rt, "ts"),
	}
	switch rapid.SampledFrom([]string{"add", "add", "add", "add", "add", "cell", "column", "family", "row"}).Draw(rt, "change") {
	case "add":
		v := cells.I64(rapid.Int64Range(-1<<40, 1<<40).Draw(rt, "value"))
		m.AddAt(id.family, id.qualifier, id.ts, v)
		model[id] = append(model[id], v)
	case "cell":
		m.DeleteCell(id.family, id.qualifier, id.ts)
		delete(model, id)
	case "column":
		m.DeleteCellsInColumn(id.family, id.qualifier)
		model.delete(func(o cellID) bool { return o.row == row && o.family == id.family && o.qualifier == id.qualifier })
	case "family":
		m.DeleteCellsInFamily(id.family)
		model.delete(func(o cellID) bool { return o.row == row && o.family == id.family })
	case "row":
		m.DeleteRow()
		model.delete(func(o cellID) bool { return o.row == row })
	}
}
