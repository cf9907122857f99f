package sql_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A version is a cell of the model; its value is its time.
type version struct {
	row, column string
	at          int64 // in milliseconds
}

// A bound is an option of a table, and the times that it leaves.
type bound struct {
	name string
	has  func(at, of int64) bool
}

var bounds = []bound{
	{"as_of", func(at, of int64) bool { return at <= of }},
	{"before", func(at, of int64) bool { return at < of }},
	{"before_or_equal", func(at, of int64) bool { return at <= of }},
	{"after", func(at, of int64) bool { return at > of }},
	{"after_or_equal", func(at, of int64) bool { return at >= of }},
}

// The options of a table choose the cells that a naive reader of all cells chooses.
func TestHistoryIsThatOfANaiveReader(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "g"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	p, all := &planes{t: t, db: db}, []version{}
	for i := range int64(60) {
		v := version{fmt.Sprintf("r%d", i*7%5), []string{"f['a']", "f['b']", "g['a']"}[i*11%3], i * 13 % 10}
		if v.row == "r3" && v.column != "g['a']" || slices.Contains(all, v) {
			continue
		}
		all = append(all, v)
		m := write.NewMutation()
		m.SetAt(v.column[:1], v.column[3:4], cells.Timestamp(v.at*1000), cells.Bytes(fmt.Append(nil, v.at)))
		if err := db.Table("t").Apply(context.Background(), v.row, m); err != nil {
			t.Fatal(err)
		}
	}
	// The newest first; a column of a row is in the order of its times.
	slices.SortFunc(all, func(a, b version) int { return int(b.at - a.at) })
	rapid.Check(t, func(t *rapid.T) {
		history := rapid.Bool().Draw(t, "history")
		options, latest, seen := []string{fmt.Sprintf("with_history => %t", history)}, 1, slices.Clone(all)
		for i, b := range bounds {
			of := rapid.Int64Range(-1, 10).Draw(t, b.name)
			if rapid.IntRange(0, 2).Draw(t, "given") > 0 || of < 0 || i > 0 && !history {
				continue
			}
			options = append(options, fmt.Sprintf("%s => TIMESTAMP_MILLIS(%d)", b.name, of))
			seen = slices.DeleteFunc(seen, func(v version) bool { return !b.has(v.at, of) })
		}
		if history {
			if latest = rapid.IntRange(1, 12).Draw(t, "latest"); latest <= 4 {
				options = append(options, fmt.Sprintf("latest_n => %d", latest))
			}
		}
		var want []string
		for _, row := range []string{"r0", "r1", "r2", "r3", "r4"} {
			line := []string{row}
			for _, column := range []string{"f['a']", "f['b']", "g['a']"} {
				line = append(line, textOfHistory(seen, row, column, latest, history))
			}
			if slices.ContainsFunc(seen, func(v version) bool { return v.row == row }) {
				want = append(want, strings.Join(line, " "))
			}
		}
		text := "SELECT _key, f['a'], f['b'], g['a'] FROM t(" + strings.Join(options, ", ") + ")"
		got, err := p.run(text)
		if err != nil || got != strings.Join(want, "\n") {
			t.Fatalf("%s\ngot  %q, %v\nwant %q", text, got, err, want)
		}
	})
}

// textOfHistory is a column as a query shows it: the newest value, or an array of cells.
func textOfHistory(seen []version, row, column string, latest int, history bool) string {
	var all []string
	for _, v := range seen {
		switch {
		case v.row != row || v.column != column || len(all) == latest:
		case history:
			all = append(all, fmt.Sprintf("{timestamp:%d value:%d}", v.at*1000, v.at))
		default:
			all = append(all, fmt.Sprint(v.at))
		}
	}
	switch {
	case len(all) == 0:
		return "NULL"
	case !history:
		return all[0]
	}
	return "[" + strings.Join(all, " ") + "]"
}

func TestWriteTimestamp(t *testing.T) {
	db := openPlanes(t)
	db.fill("k") // with f:x at 1000
	for _, q := range []struct{ sql, want string }{
		{`SELECT WRITE_TIMESTAMP(f, 'x'), UNIX_MICROS(WRITE_TIMESTAMP(t.f, b'x')), WRITE_TIMESTAMP(f, 'none') FROM t`, "1000 1000 NULL"},
		{`SELECT MAX(WRITE_TIMESTAMP(f, 'x')) FROM t WHERE WRITE_TIMESTAMP(f, 'x') > TIMESTAMP_MICROS(999)`, "1000"},
		{`SELECT WRITE_TIMESTAMP(f, 'x') FROM t(with_history => TRUE)`, "1000"},
		{`SELECT WRITE_TIMESTAMP(f, 'none') FROM t`, "NULL"},
		{`SELECT WRITE_TIMESTAMP(f, CONCAT(_key, 'x')), WRITE_TIMESTAMP(f, NULL) FROM t`, "NULL NULL"},
		{`EXPLAIN SELECT WRITE_TIMESTAMP(f, 'x') FROM t`, "read all rows of t\n  column f:x\n  which rows have other cells\nselect 1 columns, row by row"},
	} {
		if got, err := db.run(q.sql); err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	for _, q := range []struct{ sql, want string }{
		{`SELECT WRITE_TIMESTAMP(f) FROM t`, "WRITE_TIMESTAMP takes two arguments [at 1:8]"},
		{`SELECT WRITE_TIMESTAMP(_key, 'x') FROM t`, "must be a column family of the table in FROM, which is not joined [at 1:24]"},
		{`SELECT WRITE_TIMESTAMP(f, 1) FROM t`, "the qualifier of WRITE_TIMESTAMP"},
	} {
		if _, err := db.run(q.sql); err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s: %v; want %s", q.sql, err, q.want)
		}
	}
}
