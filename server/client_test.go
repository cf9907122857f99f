package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// dialled is a client of a rig's server, whose tables have plain names.
func (r *rig) dialled() *client.Client {
	r.t.Helper()
	c, err := client.Dial(r.addr, client.Options{Instance: parent})
	r.must(err)
	r.t.Cleanup(func() { _ = c.Close() })
	r.must(c.Refresh(r.ctx()))
	return c
}

// typed serves a table with families of the types that the API has.
func typed(t *testing.T) *rig {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "b", Type: cells.TypeBytes}, {Name: "f", Type: cells.TypeF64}, {Name: "n", Type: cells.TypeI64}, {Name: "s", Type: cells.TypeString}, {Name: "t", Type: cells.TypeBool},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return serve(t, db, server.Options{Instance: parent})
}

var (
	someKeys       = rapid.SampledFrom([]string{"a", "a\x00", "ab", "b", "b#1", "b#2", "c", "\xff", "\xff\xff", "z"})
	someQualifiers = rapid.SampledFrom([]string{"", "x", "x\x00", "xy", "y", "\xff"})
	someTimes      = rapid.SampledFrom([]cells.Timestamp{0, 1, 2, 3000, 1 << 40, 1<<62 - 1, 1 << 62, cells.MaxTimestamp - 1, cells.MaxTimestamp})
	someFamilies   = rapid.SampledFrom([]string{"b", "f", "n", "s", "t"})
	someOps        = rapid.SampledFrom([]cells.Op{cells.OpEqual, cells.OpNotEqual, cells.OpLess, cells.OpLessOrEqual, cells.OpGreater, cells.OpGreaterOrEqual})
)

func someValue(t *rapid.T, family string) cells.Value {
	switch family {
	case "b":
		return cells.Bytes([]byte(rapid.SampledFrom([]string{"", "v", "w\x00"}).Draw(t, "bytes")))
	case "f":
		return cells.F64(rapid.SampledFrom([]float64{-1.5, 0, 2, 1e300}).Draw(t, "float"))
	case "n":
		return cells.I64(rapid.SampledFrom([]int64{-1 << 63, -2, 0, 2, 1 << 40}).Draw(t, "int"))
	case "s":
		return cells.String(rapid.SampledFrom([]string{"", "text", "ünï"}).Draw(t, "text"))
	}
	return cells.Bool(rapid.Bool().Draw(t, "bool"))
}

func someMutation(t *rapid.T) *write.Mutation {
	m := write.NewMutation()
	for range rapid.IntRange(1, 5).Draw(t, "changes") {
		family, qualifier, ts := someFamilies.Draw(t, "family"), someQualifiers.Draw(t, "qualifier"), someTimes.Draw(t, "time")
		switch rapid.IntRange(0, 9).Draw(t, "change") {
		case 0:
			m.DeleteRow()
		case 1:
			m.DeleteCellsInFamily(family)
		case 2:
			m.DeleteTimestampRange(family, qualifier, ts, behind(ts, 2))
		case 3:
			m.DeleteCellsInColumn(family, qualifier)
		default:
			m.SetAt(family, qualifier, ts, someValue(t, family))
		}
	}
	return m
}

// behind is the end of a range of times; 0, which is no bound, if it would be after the
// last timestamp.
func behind(ts, length cells.Timestamp) cells.Timestamp {
	if ts > cells.MaxTimestamp-length {
		return 0
	}
	return ts + length
}

// someRead has the options of a read, and its conditions.
func someRead(t *rapid.T) (opts []read.Option) {
	some := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, name) == 0 }
	switch rapid.IntRange(0, 4).Draw(t, "rows") {
	case 0:
		opts = append(opts, read.Key(someKeys.Draw(t, "key"), someKeys.Draw(t, "key")))
	case 1:
		opts = append(opts, read.Prefix(someKeys.Draw(t, "prefix")))
	case 2:
		from, to := someKeys.Draw(t, "from"), someKeys.Draw(t, "to")
		opts = append(opts, read.Range(min(from, to), max(from, to)))
	}
	if some("after") {
		opts = append(opts, read.StartAfter(someKeys.Draw(t, "after key")))
	}
	for range rapid.IntRange(0, 3).Draw(t, "columns") {
		family, q := someFamilies.Draw(t, "family"), someQualifiers.Draw(t, "qualifier")
		opts = append(opts, rapid.SampledFrom([]read.Option{
			read.Family(family), read.Column(family, q), read.ColumnPrefix(family, q), read.ColumnRange(family, "", q), read.ColumnRange(family, q, ""),
			read.ColumnRange(family, q, q+"\x00y"), read.ColumnRange(family, "y", "x"), // which is empty
		}).Draw(t, "column"))
	}
	if some("time range") {
		from := someTimes.Draw(t, "since")
		opts = append(opts, read.TimeRange(from, behind(from, rapid.SampledFrom([]cells.Timestamp{1, 2, 1 << 41}).Draw(t, "for"))))
	}
	for range rapid.IntRange(0, 2).Draw(t, "conditions") {
		family, q := someFamilies.Draw(t, "family"), someQualifiers.Draw(t, "qualifier")
		opts = append(opts, rapid.SampledFrom([]read.Option{
			read.Where(family, q, someOps.Draw(t, "op"), someValue(t, family)), read.Exists(family, q), read.Absent(family, q),
			read.WhereIn(family, q, someValue(t, family), someValue(t, family)), read.WhereMatch("s", q, "t.*|"), read.WhereColumns(family, q, someOps.Draw(t, "op"), family, "x"),
			read.WhereTime(family, q, someOps.Draw(t, "op"), someTimes.Draw(t, "time")), read.WhereKey(someOps.Draw(t, "op"), someKeys.Draw(t, "key")),
			read.WhereKeyPart(2, cells.OpGreater, cells.I64(1)), read.WhereKeyMatch("b.*"),
			read.Any(read.Exists(family, q), read.Negate(read.Where(family, q, someOps.Draw(t, "op"), someValue(t, family)))),
		}).Draw(t, "condition"))
	}
	if some("every row") {
		opts = append(opts, read.EveryRow())
	} else if some("filter") {
		opts = append(opts, read.Filter(rapid.SampledFrom([]filter.Filter{
			filter.RowKey("[ab]"), filter.Column("x.*"), filter.Chain{filter.Family("n|s"), filter.Column(".*")},
			filter.Interleave{filter.Family("n"), filter.Family("s")}, filter.CellsPerRowLimit(2),
		}).Draw(t, "filter")))
	}
	number := func(name string, option func(int) read.Option) {
		if some(name) {
			opts = append(opts, option(rapid.IntRange(1, 3).Draw(t, name)))
		}
	}
	number("versions", read.Versions)
	number("cells per row", read.CellsPerRow)
	number("limit", read.Limit)
	number("offset", read.Offset)
	if some("sample") {
		opts = append(opts, read.SampleByKey(rapid.SampledFrom([]float64{0, 0.3, 0.7, 1}).Draw(t, "part")))
	}
	if some("reverse") {
		opts = append(opts, read.Reverse())
	}
	if some("keys only") {
		opts = append(opts, read.KeysOnly())
	}
	return opts
}

func rowTexts(t *rapid.T, rows func(func(*query.Row, error) bool)) (texts []string) {
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%q:", row.Key())
		for c := range row.Cells() {
			text += fmt.Sprintf(" %s:%q@%d=%s %q", c.Family, c.Qualifier, c.Timestamp, c.Value.Type(), c.Value)
		}
		texts = append(texts, text)
	}
	return texts
}

// Reads and writes over the network have the same results as in a local database.
func TestClientIsAsTheDatabase(t *testing.T) {
	r := typed(t)
	other, err := query.OpenInMemory(query.Options{Schema: r.db.Schema()})
	r.must(err)
	defer other.Close()
	client := r.dialled()
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		near, far := other.Table("t"), client.Table("t")
		for range rapid.IntRange(1, 8).Draw(t, "mutations") {
			key, m := someKeys.Draw(t, "key"), someMutation(t)
			if err := near.Apply(ctx, key, m); err != nil {
				t.Fatal(err)
			}
			if err := far.Apply(ctx, key, m); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			opts := someRead(t)
			want, got := rowTexts(t, near.ReadRows(ctx, opts...)), rowTexts(t, far.ReadRows(ctx, opts...))
			if slices.ContainsFunc(opts, func(o read.Option) bool { return isKeysOnly(o) }) {
				want, got = keysOf(want), keysOf(got)
			}
			if !slices.Equal(want, got) {
				t.Fatalf("at hand:\n%s\nover the network:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
			}
			wantCount, err1 := near.Count(ctx, opts...)
			gotCount, err2 := far.Count(ctx, opts...)
			if err1 != nil || err2 != nil || wantCount != gotCount {
				t.Fatalf("counts: at hand %v, %v; over the network %v, %v\n%s", wantCount, err1, gotCount, err2, strings.Join(want, "\n"))
			}
		}
		key, family, q := someKeys.Draw(t, "key"), someFamilies.Draw(t, "family"), someQualifiers.Draw(t, "qualifier")
		condition := rapid.SampledFrom([]read.Option{
			read.Where(family, q, cells.OpEqual, someValue(t, family)), read.Where(family, q, cells.OpNotEqual, someValue(t, family)), read.Exists(family, q), read.Absent(family, q),
		}).Draw(t, "condition")
		then, otherwise := someMutation(t), someMutation(t)
		want, err1 := near.CheckAndMutate(ctx, key, condition, then, otherwise)
		got, err2 := far.CheckAndMutate(ctx, key, condition, then, otherwise)
		if err1 != nil || err2 != nil || want != got {
			t.Fatalf("check and mutate: at hand %v, %v; over the network %v, %v", want, err1, got, err2)
		}
		if want, got := rowTexts(t, near.ReadRows(ctx)), rowTexts(t, far.ReadRows(ctx)); !slices.Equal(want, got) {
			t.Fatalf("at the end, at hand:\n%s\nover the network:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
	})
}

// isKeysOnly finds the option KeysOnly, whose rows have unspecified cells.
func isKeysOnly(o read.Option) bool {
	want, err := read.New(o)
	return err == nil && want.KeysOnly
}

func keysOf(texts []string) (keys []string) {
	for _, text := range texts {
		key, _, _ := strings.Cut(text, ": ")
		keys = append(keys, strings.TrimSuffix(key, ":"))
	}
	return keys
}

// A read whose consumer pauses for longer than the server waits continues after its
// last row.
func TestClientResumes(t *testing.T) {
	r, _, log := limited(t, server.Limits{SendTimeout: 100 * time.Millisecond})
	tab := r.big()
	_ = tab
	for _, opts := range [][]read.Option{{}, {read.Reverse(), read.Offset(3), read.Limit(390)}, {read.Exists("f", "q"), read.Limit(395)}} {
		client := r.dialled()
		var keys []string
		before := strings.Count(log.String(), "has not read for")
		for row, err := range client.Table("proj/inst/t").ReadRows(r.ctx(), opts...) {
			r.must(err)
			if keys = append(keys, row.Key()); len(keys) == 5 {
				r.until("the call having ended", func() bool { return strings.Count(log.String(), "has not read for") > before })
			}
		}
		var want []string
		for row, err := range r.db.Table("proj/inst/t").ReadRows(r.ctx(), opts...) {
			r.must(err)
			want = append(want, row.Key())
		}
		if !slices.Equal(keys, want) {
			t.Errorf("%d rows from %s on, want %d from %s on", len(keys), keys[0], len(want), want[0])
		}
	}
}

func TestClientErrors(t *testing.T) {
	r := typed(t)
	c := r.dialled()
	tab := c.Table("t")
	ctx := r.ctx()
	one := func(f func(*write.Mutation)) *write.Mutation {
		m := write.NewMutation()
		f(m)
		return m
	}
	set := one(func(m *write.Mutation) { m.Set("n", "q", cells.I64(1)) })
	for _, e := range []struct {
		name string
		err  error
		kind query.Kind
		text string
	}{
		{"unknown table", c.Table("none").Apply(ctx, "k", set), query.KindNotFound, "not found"},
		{"unknown family", tab.Apply(ctx, "k", one(func(m *write.Mutation) { m.Set("zz", "q", cells.I64(1)) })), query.KindNotFound, "zz"},
		{"empty key", tab.Apply(ctx, "", set), query.KindInvalidArgument, "non-empty"},
		{"wrong type", tab.Apply(ctx, "k", one(func(m *write.Mutation) { m.Set("n", "q", cells.Bool(true)) })), query.KindInvalidArgument, "the family's type is i64"},
		{"range", tab.DeleteRange(ctx, read.Range("c", "a")), query.KindInvalidArgument, "after its end"},
		{"table twice", c.CreateTable(ctx, schema.Table{Name: "t"}), query.KindAlreadyExists, "exists already"},
		{"no such family", c.DropFamily(ctx, "t", "zz"), query.KindNotFound, "zz"},
	} {
		if query.KindOf(e.err) != e.kind || e.err == nil || !strings.Contains(e.err.Error(), e.text) {
			t.Errorf("%s: %v of kind %v", e.name, e.err, query.KindOf(e.err))
		}
	}
	for name, opt := range map[string]read.Option{
		"a page's size": read.PageSize(1), "a page's token": read.After("x"), "rejected rows": read.Rejected(func(string) error { return nil }),
	} {
		for _, err := range tab.ReadRows(ctx, opt) {
			if query.KindOf(err) != query.KindInvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	count := write.NewReadModifyWrite()
	count.Increment("s", "q", 1)
	r.must(tab.Apply(ctx, "k", one(func(m *write.Mutation) { m.Set("s", "q", cells.String("one")) })))
	if _, err := tab.ApplyReadModifyWrite(ctx, "k", count); strings.Count(err.Error(), `read-modify-write t "k": `) != 1 {
		t.Errorf("what the call was about stands there once: %v", err)
	}
	r.stop()
	for _, err := range tab.ReadRows(ctx) {
		if query.KindOf(err) != query.KindUnavailable {
			t.Errorf("a server that has gone: %v", err)
		}
	}
}

// Families keep their types and rules over the network.
func TestClientDeclares(t *testing.T) {
	r := typed(t)
	c := r.dialled()
	families := []schema.Family{
		{Name: "a", GC: schema.MaxVersions(2)}, {Name: "b", Type: cells.TypeString, GC: schema.Any(schema.MaxVersions(1), schema.MaxAge(time.Hour))},
		{Name: "c", Type: cells.TypeF32}, {Name: "d", Aggregate: schema.AggregateMax}, {Name: "e", Type: cells.TypeI64},
	}
	r.must(c.CreateTable(r.ctx(), schema.Table{Name: "made", Families: families[:3], ChangeStream: 48 * time.Hour}))
	for _, keep := range []time.Duration{48 * time.Hour, 24 * time.Hour, 0} {
		r.must(c.SetChangeStream(r.ctx(), "made", keep))
		r.must(c.Refresh(r.ctx()))
		far, _ := c.LookupTable("made")
		near, _ := r.db.LookupTable("made")
		if far.ChangeStream != keep || near.ChangeStream != keep {
			t.Errorf("changes are kept for %v over the network and %v at hand, want %v", far.ChangeStream, near.ChangeStream, keep)
		}
	}
	r.must(c.AddFamily(r.ctx(), "made", families[3]))
	r.must(c.AddFamily(r.ctx(), "made", schema.Family{Name: "e"}))
	r.must(c.Refresh(r.ctx()))
	r.must(c.SetFamily(r.ctx(), "made", families[4]))
	r.must(c.Refresh(r.ctx()))
	far, _ := c.LookupTable("made")
	near, _ := r.db.LookupTable("made")
	for i, want := range families {
		if got := far.Families[i]; got.String() != want.String() {
			t.Errorf("over the network: %s, want %s", got, want)
		}
		if got := near.Families[i]; got.String() != want.String() {
			t.Errorf("at hand: %s, want %s", got, want)
		}
	}
	r.must(c.CreateTable(r.ctx(), schema.Table{Name: "p/i/made", Families: families}))
	if _, ok := c.LookupTable("p/i/made"); !ok {
		t.Error("a table of another instance is not found")
	}
	if _, ok := c.Schema().Table("p/i/made"); ok {
		t.Error("a table of another instance is among one's own")
	}
	r.must(c.DropTable(r.ctx(), "made"))
	r.must(c.Refresh(r.ctx()))
	if _, ok := c.LookupTable("made"); ok {
		t.Error("a dropped table is there")
	}
}

// A rule that contains itself is refused before it is sent.
func TestAClientRefusesACyclicRule(t *testing.T) {
	r := typed(t)
	c := r.dialled()
	rule := &schema.Rule{}
	rule.Any = []*schema.Rule{rule}
	f := schema.Family{Name: "f", GC: rule}
	for name, err := range map[string]error{
		"create table": c.CreateTable(r.ctx(), schema.Table{Name: "u", Families: []schema.Family{f}}),
		"add family":   c.AddFamily(r.ctx(), "t", schema.Family{Name: "new", GC: rule}),
		"set family":   c.SetFamily(r.ctx(), "t", f),
	} {
		if query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAMergeOverTheNetwork merges a sketch into a row, which keeps its other cells.
func TestAMergeOverTheNetwork(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "h", Aggregate: schema.AggregateHLL}, {Name: "s"},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := serve(t, db, server.Options{Instance: parent})
	table := r.dialled().Table("t")
	m := write.NewMutation()
	m.SetAt("s", "kept", 1, cells.String("v"))
	m.AddAt("h", "n", 1, cells.String("a"))
	r.must(table.Apply(r.ctx(), "k", m))
	m = write.NewMutation()
	m.MergeAt("h", "n", 1, []byte{1, 0, 1, 2, 3, 4, 5, 6, 7, 8}) // docs/format.md: the hash of one value
	r.must(table.Apply(r.ctx(), "k", m))
	row, err := db.Table("t").ReadRow(r.ctx(), "k")
	r.must(err)
	if n, _ := row.I64("h", "n"); n != 2 || row.Text("s", "kept") != "v" {
		t.Errorf("the row is %v", row)
	}
}

// Two clients change the rows that satisfy a condition at the same time: each row is
// changed by one of them, since it then no longer satisfies the condition.
func TestApplyWhereChangesARowWhileItSatisfiesTheConditions(t *testing.T) {
	r := typed(t)
	const rows = 520 // more than are read before they are changed
	values := []struct {
		family string
		v      cells.Value
	}{
		{"b", cells.Bytes([]byte("\x00\xff"))}, {"f", cells.F64(-0.5)}, {"n", cells.I64(-1)}, {"s", cells.String("free")}, {"t", cells.Bool(true)},
	}
	var where []read.Option
	for _, v := range values {
		where = append(where, read.Where(v.family, "is", cells.OpEqual, v.v))
	}
	where = append(where, read.Condition{Kind: read.IsAbsent, Family: "s", Qualifier: "by"})
	var keys []string
	var ms []*write.Mutation
	for i := range rows {
		m := write.NewMutation()
		for _, v := range values {
			m.Set(v.family, "is", v.v)
		}
		keys, ms = append(keys, fmt.Sprintf("row%05d", i)), append(ms, m)
	}
	_, err := r.db.Table("t").ApplyBulk(r.ctx(), keys, ms)
	r.must(err)
	type outcome struct {
		changed int64
		err     error
	}
	outcomes := make(chan outcome)
	for _, name := range []string{"one", "other"} {
		go func() {
			m := write.NewMutation()
			m.Set("s", "by", cells.String(name))
			n, _, err := r.dialled().Table("t").ApplyWhere(r.ctx(), m, where...)
			outcomes <- outcome{n, err}
		}()
	}
	total := int64(0)
	for range 2 {
		o := <-outcomes
		r.must(o.err)
		total += o.changed
	}
	twice, err := r.db.Table("t").Count(r.ctx(), read.Column("s", "by"), read.Versions(0))
	r.must(err)
	if total != rows || twice.Cells != rows {
		t.Errorf("%d changes of %d rows, which then had %d cells", total, rows, twice.Cells)
	}
	large := write.NewMutation()
	large.Set("b", "large", cells.Bytes(make([]byte, 15_000)))
	r.must(r.db.Table("t").Apply(r.ctx(), "row00000", large))
	_, last, err := r.dialled().Table("t").ApplyWhere(r.ctx(), large, read.Where("b", "large", cells.OpNotEqual, cells.Bytes(nil)))
	if err == nil || last != "" || !strings.Contains(err.Error(), "too large to be compared") {
		t.Errorf("after %q: %v", last, err)
	}
}

// The error does not depend on whether a row satisfies the conditions.
func TestApplyWhereRefusesAMutationWithoutChanges(t *testing.T) {
	r := typed(t)
	_, _, err := r.dialled().Table("t").ApplyWhere(r.ctx(), write.NewMutation(), read.Where("s", "by", cells.OpEqual, cells.String("one")))
	if query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), "no changes") {
		t.Errorf("a mutation without changes: %v", err)
	}
}

// A cell at the largest timestamp has no timestamp after it. ApplyWhere changes its row all
// the same.
func TestApplyWhereChangesARowWithTheLargestTimestamp(t *testing.T) {
	r := typed(t)
	m := write.NewMutation()
	m.SetAt("s", "is", cells.MaxTimestamp, cells.String("free"))
	r.must(r.db.Table("t").Apply(r.ctx(), "row", m))
	change := write.NewMutation()
	change.SetAt("s", "by", 1, cells.String("one"))
	n, last, err := r.dialled().Table("t").ApplyWhere(r.ctx(), change, read.Where("s", "is", cells.OpEqual, cells.String("free")))
	if n != 1 || last != "row" || err != nil {
		t.Errorf("changed %d rows up to %q: %v", n, last, err)
	}
}
