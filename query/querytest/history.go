package querytest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Histories drives a database and a model through the same random histories:
// mutations, deletes, backfill, time passing, flushes, compactions, collections, changes
// of rules, families that come and go, and reopenings, with reads of any options compared
// on the way. rapid prints the seed of a failure; -rapid.checks makes it longer.
func Histories(t *testing.T, places func() Place) {
	rapid.Check(t, func(t *rapid.T) {
		p := places()
		defer p.Remove()
		h := newHistory(t, p, query.Options{})
		defer h.close(t)
		t.Repeat(map[string]func(*rapid.T){
			"apply":        h.apply,
			"apply batch":  h.applyBatch,
			"apply more":   h.apply,
			"delete range": h.deleteRange,
			"maintain":     h.maintain,
			"read":         h.read,
			"read more":    h.read,
		})
		h.read(t)
	})
}

// A history is a database and a model with the same operations.
type history struct {
	place Place
	o     query.Options // besides every history's
	// stream is the change stream of the table.
	stream time.Duration
	db     *query.DB
	model  model
	draw   names
}

// names are the few names of one history, so that it often uses the same columns again.
type names struct{ row, family, qualifier *rapid.Generator[string] }

func drawNames(t *rapid.T) names {
	few := func(label string, all []string) *rapid.Generator[string] {
		n := rapid.IntRange(1, 3).Draw(t, label)
		return rapid.SampledFrom(rapid.Permutation(all).Draw(t, label)[:n])
	}
	return names{few("rows", allRows), few("families", slices.Sorted(maps.Keys(historyRules))), few("qualifiers", allQualifiers)}
}

const historyTable = "t"

var historyRules = map[string]*schema.Rule{
	"all":   nil,
	"two":   schema.MaxVersions(2),
	"young": schema.MaxAge(20 * time.Microsecond),
	"mixed": schema.Any(schema.MaxVersions(3), schema.All(schema.MaxVersions(1), schema.MaxAge(10*time.Microsecond))),
}

func historySchema(stream time.Duration) *schema.Schema {
	t := schema.Table{Name: historyTable, ChangeStream: stream}
	for _, name := range slices.Sorted(maps.Keys(historyRules)) {
		t.Families = append(t.Families, schema.Family{Name: name, GC: historyRules[name]})
	}
	return &schema.Schema{Tables: []schema.Table{t}}
}

func newHistory(t *rapid.T, p Place, o query.Options) *history {
	return newLoggedHistory(t, p, o, 0)
}

// newLoggedHistory is newHistory of a table with a change stream.
func newLoggedHistory(t *rapid.T, p Place, o query.Options, stream time.Duration) *history {
	h := &history{place: p, o: o, stream: stream, draw: drawNames(t)}
	h.model = model{now: 30, rules: maps.Clone(historyRules), cells: map[cellID]cells.Value{}}
	h.open(t)
	return h
}

func (h *history) open(t *rapid.T) {
	o := h.o
	o.Schema, o.Clock = historySchema(h.stream), func() time.Time { return h.model.now.Time() }
	db, err := h.place.Open(o)
	must(t, err)
	h.db = db
}

func (h *history) close(t *rapid.T) { must(t, h.db.Close()) }

func (h *history) table() *query.Table { return h.db.Table(historyTable) }

var (
	allRows       = []string{"a", "a\x00", "a\x00\xff", "a\xff", "b", "ba", "\xff", "\xff\xff"}
	allQualifiers = []string{"", "\x00", "q", "q\x00", "qq", "\xff"}
	genTime       = rapid.Map(rapid.Int64Range(0, 40), func(n int64) cells.Timestamp { return cells.Timestamp(n) })
	// Timestamps at the limits of the formats on disk.
	lateTimes = []cells.Timestamp{1<<62 - 1, 1 << 62, cells.MaxTimestamp - 1, cells.MaxTimestamp}
	genStamp  = rapid.OneOf(genTime, genTime, genTime, rapid.SampledFrom(lateTimes))
)

// drawTimes draws a time range; an until of 0 is no bound.
func drawTimes(t *rapid.T) (since, until cells.Timestamp) {
	since, until = genStamp.Draw(t, "since"), genStamp.Draw(t, "until")
	if rapid.IntRange(0, 3).Draw(t, "no bound") == 0 {
		return since, 0
	}
	return min(since, until), max(since, until)
}

// mutation draws a mutation, and returns it with a function that applies it to a row of
// the model.
func (h *history) mutation(t *rapid.T, row string) (*write.Mutation, func()) {
	m := write.NewMutation()
	var effects []func()
	for range rapid.IntRange(1, 5).Draw(t, "changes") {
		family, qualifier := h.draw.family.Draw(t, "family"), h.draw.qualifier.Draw(t, "qualifier")
		ts := genStamp.Draw(t, "ts")
		inColumn := func(id cellID) bool {
			return id.row == row && id.family == family && id.qualifier == qualifier
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		default:
			v := cells.I64(rapid.Int64Range(0, 9).Draw(t, "value"))
			m.SetAt(family, qualifier, ts, v)
			effects = append(effects, func() { h.model.set(cellID{row, family, qualifier, ts}, v) })
		case 0:
			m.DeleteCell(family, qualifier, ts)
			effects = append(effects, func() { h.model.delete(func(id cellID) bool { return inColumn(id) && id.ts == ts }) })
		case 1:
			since, until := drawTimes(t)
			m.DeleteTimestampRange(family, qualifier, since, until)
			effects = append(effects, func() {
				h.model.delete(func(id cellID) bool { return inColumn(id) && id.ts >= since && (until == 0 || id.ts < until) })
			})
		case 2:
			m.DeleteCellsInColumn(family, qualifier)
			effects = append(effects, func() { h.model.delete(inColumn) })
		case 3:
			m.DeleteCellsInFamily(family)
			effects = append(effects, func() { h.model.delete(func(id cellID) bool { return id.row == row && id.family == family }) })
		case 4:
			m.DeleteRow()
			effects = append(effects, func() { h.model.delete(func(id cellID) bool { return id.row == row }) })
		}
	}
	return m, func() {
		h.model.sorted()
		for _, effect := range effects {
			effect()
			h.model.sorted()
		}
	}
}

func (h *history) apply(t *rapid.T) {
	row := h.draw.row.Draw(t, "row")
	m, effect := h.mutation(t, row)
	if err := h.table().Apply(context.Background(), row, m); err != nil {
		t.Fatal(err)
	}
	effect()
}

func (h *history) applyBatch(t *rapid.T) {
	b := write.NewBatch()
	var effects []func()
	for range rapid.IntRange(2, 4).Draw(t, "rows") {
		row := h.draw.row.Draw(t, "row")
		m, effect := h.mutation(t, row)
		b.Add(historyTable, row, m)
		effects = append(effects, effect)
	}
	if err := h.db.Apply(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	for _, effect := range effects {
		effect()
	}
}

func (h *history) deleteRange(t *rapid.T) {
	start, end := h.draw.row.Draw(t, "start"), h.draw.row.Draw(t, "end")
	if start > end {
		start, end = end, start
	}
	if err := h.table().DeleteRange(context.Background(), read.Range(start, end)); err != nil {
		t.Fatal(err)
	}
	h.model.delete(func(id cellID) bool { return id.row >= start && id.row < end })
}

func (h *history) maintain(t *rapid.T) {
	ctx := context.Background()
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0:
		if err := h.table().Flush(ctx); err != nil {
			t.Fatal(err)
		}
	case 1:
		if err := h.table().Compact(ctx); err != nil {
			t.Fatal(err)
		}
	case 2:
		h.close(t)
		h.open(t)
	case 3:
		h.model.now += genTime.Draw(t, "later")
	case 4:
		if _, err := h.db.GC(ctx, historyTable, query.GCOptions{Compact: rapid.Bool().Draw(t, "compact")}); err != nil {
			t.Fatal(err)
		}
	case 5:
		h.changeRule(t)
	case 6:
		h.comeAndGo(t)
	}
}

// changeRule gives a family another rule. Cells that the old rule hid stay hidden.
func (h *history) changeRule(t *rapid.T) {
	family := h.draw.family.Draw(t, "family")
	rule := historyRules[rapid.SampledFrom(slices.Sorted(maps.Keys(historyRules))).Draw(t, "rule of")]
	h.model.sorted()
	if err := h.db.SetFamily(context.Background(), historyTable, schema.Family{Name: family, GC: rule}); err != nil {
		t.Fatal(err)
	}
	h.model.rules[family] = rule
}

// comeAndGo adds a family and drops it, or drops a family and adds it again.
func (h *history) comeAndGo(t *rapid.T) {
	ctx, family := context.Background(), h.draw.family.Draw(t, "family")
	if rapid.Bool().Draw(t, "new") {
		extra := schema.Family{Name: "extra"}
		if err := errors.Join(h.db.AddFamily(ctx, historyTable, extra),
			h.table().Apply(ctx, "a", setN("extra", "q", 1)), h.db.DropFamily(ctx, historyTable, "extra")); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := errors.Join(h.db.DropFamily(ctx, historyTable, family),
		h.db.AddFamily(ctx, historyTable, schema.Family{Name: family, GC: h.model.rules[family]})); err != nil {
		t.Fatal(err)
	}
	h.model.delete(func(id cellID) bool { return id.family == family })
	h.model.tell(event{family: family})
}
