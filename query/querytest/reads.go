package querytest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
)

// read compares a read with options drawn at random.
func (h *history) read(t *rapid.T) {
	opts, naive := h.drawRead(t)
	if rapid.IntRange(0, 2).Draw(t, "every row") == 0 {
		opts, naive.everyRow = append(opts, read.EveryRow()), true
	}
	if rapid.Bool().Draw(t, "lent") {
		opts = append(opts, read.Lend())
	}
	want := naive.run(&h.model)
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
	reverse, keysOnly, everyRow     bool
	families                        map[string]bool // that the columns name
	where                           []judge
	judged                          map[[2]string]bool // the columns of conditions
}

func (h *history) drawRead(t *rapid.T) ([]read.Option, *naiveRead) {
	r := naiveRead{rows: func(string) bool { return true }, columns: func(string, string) bool { return true }, judged: map[[2]string]bool{}}
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
		for range rapid.IntRange(1, 2).Draw(t, "conditions") {
			c, holds := drawCondition(t, h.draw, 2)
			opts, r.where = append(opts, c), append(r.where, holds)
			for family, qualifier := range c.Columns() {
				r.judged[[2]string{family, qualifier}] = true
			}
		}
	})
	return opts, &r
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
	r.families = map[string]bool{}
	var sets []func(f, q string) bool
	var opts []read.Option
	for range rapid.IntRange(1, 3).Draw(t, "specs") {
		family, a, b := draw.family.Draw(t, "family"), draw.qualifier.Draw(t, "a"), draw.qualifier.Draw(t, "b")
		empty := false // the range contains no column
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
			empty = start == end && end != ""
			add(read.ColumnRange(family, start, end), func(q string) bool { return q >= start && (end == "" || q < end) })
		}
		r.families[family] = r.families[family] || !empty
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
		picked := r.pick(byRow[key], r.columns)
		there := len(picked) > 0
		if r.everyRow && r.families != nil {
			picked = r.pick(byRow[key], func(f, q string) bool { return r.columns(f, q) || r.families[f] && r.judged[[2]string{f, q}] })
			there = len(r.pick(byRow[key], func(string, string) bool { return true })) > 0
		}
		if !r.rows(key) || !there || !allHold(r.where, newestOf(m, key, byRow[key])) {
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
func (r *naiveRead) pick(ids []cellID, columns func(family, qualifier string) bool) []cellID {
	var picked []cellID
	versions := 0
	for i, id := range ids {
		if i == 0 || !sameColumn(ids[i-1], id) {
			versions = 0
		}
		if !columns(id.family, id.qualifier) || id.ts < r.since || r.until != 0 && id.ts >= r.until {
			continue
		}
		if versions++; r.versions != 0 && versions > r.versions || r.perRow != 0 && len(picked) == r.perRow {
			continue
		}
		picked = append(picked, id)
	}
	return picked
}
