//go:build cgo

package query_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A model is the data model in the most naive form: a list of cells. What
// retention hides is gone from it at once.
type model struct {
	now   cells.Timestamp
	rules map[string]*schema.Rule // by family
	cells map[cellID]cells.Value
}

type cellID struct {
	row, family, qualifier string
	ts                     cells.Timestamp
}

func compareIDs(a, b cellID) int {
	return cmp.Or(strings.Compare(a.row, b.row), strings.Compare(a.family, b.family),
		strings.Compare(a.qualifier, b.qualifier), cmp.Compare(b.ts, a.ts))
}

func (m *model) delete(doomed func(cellID) bool) {
	maps.DeleteFunc(m.cells, func(id cellID, _ cells.Value) bool { return doomed(id) })
}

// sorted are the cells in order, after retention.
func (m *model) sorted() []cellID {
	ids := slices.SortedFunc(maps.Keys(m.cells), compareIDs)
	kept := ids[:0]
	rank := 0
	for i, id := range ids {
		if rank++; i == 0 || !sameColumn(ids[i-1], id) {
			rank = 1
		}
		if m.drops(id, rank) {
			delete(m.cells, id)
			continue
		}
		kept = append(kept, id)
	}
	return kept
}

func sameColumn(a, b cellID) bool {
	return a.row == b.row && a.family == b.family && a.qualifier == b.qualifier
}

func (m *model) drops(id cellID, rank int) bool {
	return dropsByTree(m.rules[id.family], rank, m.now-id.ts)
}

// dropsByTree reads the rule as it is written, not as it is compiled.
func dropsByTree(r *schema.Rule, rank int, age cells.Timestamp) bool {
	drops := func(sub *schema.Rule) bool { return dropsByTree(sub, rank, age) }
	switch {
	case r == nil:
		return false
	case r.MaxVersions > 0:
		return rank > r.MaxVersions
	case r.MaxAge > 0:
		return age > cells.Timestamp(r.MaxAge.Microseconds())
	case len(r.Any) > 0:
		return slices.ContainsFunc(r.Any, drops)
	}
	return !slices.ContainsFunc(r.All, func(sub *schema.Rule) bool { return !drops(sub) })
}

// A history is a database and a model that went through the same.
type history struct {
	dir   string
	db    *query.DB
	model model
	draw  names
}

// names are the few that one history uses, so that it comes back to the same
// columns often.
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

func historySchema() *schema.Schema {
	t := schema.Table{Name: historyTable}
	for _, name := range slices.Sorted(maps.Keys(historyRules)) {
		t.Families = append(t.Families, schema.Family{Name: name, GC: historyRules[name]})
	}
	return &schema.Schema{Tables: []schema.Table{t}}
}

func (h *history) open(t *rapid.T) {
	db, err := query.Open(h.dir, query.Options{
		Schema: historySchema(), Durability: query.DurabilityAsync, Memory: 16 << 20,
		Clock: func() time.Time { return h.model.now.Time() },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.db = db
}

func (h *history) table() *query.Table { return h.db.Table(historyTable) }

var (
	allRows       = []string{"a", "a\x00", "a\x00\xff", "a\xff", "b", "ba", "\xff", "\xff\xff"}
	allQualifiers = []string{"", "\x00", "q", "q\x00", "qq", "\xff"}
	genTime       = rapid.Map(rapid.Int64Range(0, 40), func(n int64) cells.Timestamp { return cells.Timestamp(n) })
	// Timestamps at the ends of what the formats on disk have, and small ones.
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

// mutation draws one, and what it does to a row of the model.
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
			effects = append(effects, func() { h.model.cells[cellID{row, family, qualifier, ts}] = v })
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
		if err := h.db.Close(); err != nil {
			t.Fatal(err)
		}
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

// changeRule gives a family another rule. What the old one hid stays away.
func (h *history) changeRule(t *rapid.T) {
	family := h.draw.family.Draw(t, "family")
	rule := historyRules[rapid.SampledFrom(slices.Sorted(maps.Keys(historyRules))).Draw(t, "rule of")]
	h.model.sorted()
	if err := h.db.SetFamily(context.Background(), historyTable, schema.Family{Name: family, GC: rule}); err != nil {
		t.Fatal(err)
	}
	h.model.rules[family] = rule
}

// comeAndGo adds a family and drops it, or drops one and adds it anew.
func (h *history) comeAndGo(t *rapid.T) {
	ctx, family := context.Background(), h.draw.family.Draw(t, "family")
	if rapid.Bool().Draw(t, "new") {
		extra := schema.Family{Name: "extra"}
		if err := errors.Join(h.db.AddFamily(ctx, historyTable, extra),
			h.table().Apply(ctx, "a", mutate(set("extra", "q", cells.I64(1)))), h.db.DropFamily(ctx, historyTable, "extra")); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := errors.Join(h.db.DropFamily(ctx, historyTable, family),
		h.db.AddFamily(ctx, historyTable, schema.Family{Name: family, GC: h.model.rules[family]})); err != nil {
		t.Fatal(err)
	}
	h.model.delete(func(id cellID) bool { return id.family == family })
}

// read compares a read with options drawn at random.
func (h *history) read(t *rapid.T) {
	opts, want := h.drawRead(t)
	got := []string{}
	for row, err := range h.table().ReadRows(context.Background(), opts...) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%q", row.Key()))
		for c := range row.Cells() {
			got = append(got, fmt.Sprintf("  %s:%q@%d=%v", c.Family, c.Qualifier, c.Timestamp, c.Value))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A naiveRead is a read's options, carried out on the model.
type naiveRead struct {
	rows                            func(string) bool
	columns                         func(family, qualifier string) bool
	since, until                    cells.Timestamp
	versions, perRow, limit, offset int
	reverse, keysOnly               bool
	where                           bool
	whereFamily, whereQualifier     string
	whereOp                         cells.Op
	whereValue                      int64
}

func (h *history) drawRead(t *rapid.T) ([]read.Option, []string) {
	r := naiveRead{rows: func(string) bool { return true }, columns: func(string, string) bool { return true }}
	var opts []read.Option
	maybe := func(name string, f func()) {
		if rapid.IntRange(0, 2).Draw(t, name) == 0 {
			f()
		}
	}
	maybe("rows", func() { opts = append(opts, r.drawRows(t, h.draw)...) })
	maybe("columns", func() { opts = append(opts, r.drawColumns(t, h.draw)...) })
	maybe("time range", func() {
		r.since, r.until = drawTimes(t)
		opts = append(opts, read.TimeRange(r.since, r.until))
	})
	maybe("versions", func() {
		r.versions = rapid.IntRange(1, 3).Draw(t, "n")
		opts = append(opts, read.Versions(r.versions))
	})
	maybe("cells per row", func() {
		r.perRow = rapid.IntRange(1, 5).Draw(t, "n")
		opts = append(opts, read.CellsPerRow(r.perRow))
	})
	maybe("limit", func() {
		r.limit = rapid.IntRange(1, 4).Draw(t, "n")
		opts = append(opts, read.Limit(r.limit))
	})
	maybe("offset", func() {
		r.offset = rapid.IntRange(1, 3).Draw(t, "n")
		opts = append(opts, read.Offset(r.offset))
	})
	maybe("reverse", func() { r.reverse = true; opts = append(opts, read.Reverse()) })
	maybe("keys only", func() { r.keysOnly = true; opts = append(opts, read.KeysOnly()) })
	maybe("where", func() {
		r.where, r.whereFamily, r.whereQualifier = true, h.draw.family.Draw(t, "family"), h.draw.qualifier.Draw(t, "qualifier")
		r.whereOp, r.whereValue = cells.Op(rapid.IntRange(0, 5).Draw(t, "op")), rapid.Int64Range(0, 9).Draw(t, "value")
		opts = append(opts, read.Where(r.whereFamily, r.whereQualifier, r.whereOp, cells.I64(r.whereValue)))
	})
	return opts, r.run(&h.model)
}

func (r *naiveRead) drawRows(t *rapid.T, draw names) []read.Option {
	var sets []func(string) bool
	var opts []read.Option
	for range rapid.IntRange(1, 3).Draw(t, "sets") {
		a, b := draw.row.Draw(t, "a"), draw.row.Draw(t, "b")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			opts = append(opts, read.Key(a, b))
			sets = append(sets, func(row string) bool { return row == a || row == b })
		case 1:
			opts = append(opts, read.Prefix(a))
			sets = append(sets, func(row string) bool { return strings.HasPrefix(row, a) })
		case 2:
			start, end := min(a, b), max(a, b)
			opts = append(opts, read.Range(start, end))
			sets = append(sets, func(row string) bool { return row >= start && row < end })
		}
	}
	r.rows = func(row string) bool {
		return slices.ContainsFunc(sets, func(in func(string) bool) bool { return in(row) })
	}
	return opts
}

func (r *naiveRead) drawColumns(t *rapid.T, draw names) []read.Option {
	var sets []func(f, q string) bool
	var opts []read.Option
	for range rapid.IntRange(1, 3).Draw(t, "specs") {
		family, a, b := draw.family.Draw(t, "family"), draw.qualifier.Draw(t, "a"), draw.qualifier.Draw(t, "b")
		add := func(spec read.ColumnSpec, holds func(q string) bool) {
			opts = append(opts, spec)
			sets = append(sets, func(f, q string) bool { return f == family && holds(q) })
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			add(read.Column(family, a), func(q string) bool { return q == a })
		case 1:
			add(read.Family(family), func(string) bool { return true })
		case 2:
			add(read.ColumnPrefix(family, a), func(q string) bool { return strings.HasPrefix(q, a) })
		case 3:
			start, end := min(a, b), max(a, b)
			add(read.ColumnRange(family, start, end), func(q string) bool { return q >= start && (end == "" || q < end) })
		}
	}
	r.columns = func(f, q string) bool {
		return slices.ContainsFunc(sets, func(in func(f, q string) bool) bool { return in(f, q) })
	}
	return opts
}

func (r *naiveRead) run(m *model) []string {
	byRow := map[string][]cellID{}
	for _, id := range m.sorted() {
		byRow[id.row] = append(byRow[id.row], id)
	}
	keys := slices.Sorted(maps.Keys(byRow))
	if r.reverse {
		slices.Reverse(keys)
	}
	out := []string{}
	rows := 0
	for _, key := range keys {
		picked := r.pick(byRow[key])
		if !r.rows(key) || len(picked) == 0 || !r.satisfied(m, byRow[key]) {
			continue
		}
		if rows++; rows <= r.offset || r.limit > 0 && rows > r.offset+r.limit {
			continue
		}
		out = append(out, fmt.Sprintf("%q", key))
		for _, id := range picked {
			if !r.keysOnly {
				out = append(out, fmt.Sprintf("  %s:%q@%d=%v", id.family, id.qualifier, id.ts, m.cells[id]))
			}
		}
	}
	return out
}

// pick are the cells of a row that the read selects.
func (r *naiveRead) pick(ids []cellID) []cellID {
	var picked []cellID
	versions := 0
	for i, id := range ids {
		if i == 0 || !sameColumn(ids[i-1], id) {
			versions = 0
		}
		if !r.columns(id.family, id.qualifier) || id.ts < r.since || r.until != 0 && id.ts >= r.until {
			continue
		}
		if versions++; r.versions != 0 && versions > r.versions || r.perRow != 0 && len(picked) == r.perRow {
			continue
		}
		picked = append(picked, id)
	}
	return picked
}

func (r *naiveRead) satisfied(m *model, ids []cellID) bool {
	if !r.where {
		return true
	}
	for _, id := range ids { // newest first
		if id.family != r.whereFamily || id.qualifier != r.whereQualifier {
			continue
		}
		n, _ := m.cells[id].AsI64()
		order := cmp.Compare(n, r.whereValue)
		return map[cells.Op]bool{cells.OpEqual: order == 0, cells.OpNotEqual: order != 0, cells.OpLess: order < 0,
			cells.OpLessOrEqual: order <= 0, cells.OpGreater: order > 0, cells.OpGreaterOrEqual: order >= 0}[r.whereOp]
	}
	return false
}

// memoryDir is a place for many short-lived databases: memory where the system
// offers it as a directory, otherwise the place for temporary files.
func memoryDir() string {
	const shm = "/dev/shm"
	f, err := os.CreateTemp(shm, "smolwc-probe-")
	if err != nil {
		return ""
	}
	if errors.Join(f.Close(), os.Remove(f.Name())) != nil {
		return ""
	}
	return shm
}

// TestHistoriesMatchTheModel drives a database and the model through the same
// random history: mutations, deletes, backfill, time passing, flushes,
// compactions, collections, changes of rules, families that come and go, and
// reopenings, with reads of any options compared on the way.
// rapid prints the seed of a failure; -rapid.checks makes it longer.
func TestHistoriesMatchTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(memoryDir(), "smolwc-model-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		h := &history{dir: dir, model: model{now: 30, rules: maps.Clone(historyRules), cells: map[cellID]cells.Value{}}, draw: drawNames(t)}
		h.open(t)
		defer func() {
			if err := h.db.Close(); err != nil {
				t.Fatal(err)
			}
		}()
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
