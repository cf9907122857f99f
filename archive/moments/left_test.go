package moments_test

import (
	"os"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A restore leaves out cells that later ones replace or hide, and only those: whatever is deleted later, in cells of the
// backup or of the log, under each kind of rule. All moments are in one segment, and one backup is between them.
func TestARestoreLeavesOutOnlyTheHidden(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one, hour := schema.MaxVersions(1), schema.MaxAge(time.Hour)
	rules := map[string]*schema.Rule{"every": nil, "one": one, "three": schema.MaxVersions(3), "age": hour, "any": schema.Any(one, hour), "all": schema.All(one, hour)}
	for name, rule := range rules {
		must(s.db.AddFamily(ctx, "fleet", schema.Family{Name: name, GC: rule}))
	}
	must(s.db.AddFamily(ctx, "airport", schema.Family{Name: "last", Aggregate: schema.AggregateMax, GC: one}))
	begin := s.db.Now()
	at := func(n int) cells.Timestamp { return begin + cells.Timestamp(n)*1000 }
	table, n := s.db.Table("fleet"), int64(0)
	change := func(key string, add func(m *write.Mutation, family string)) {
		t.Helper()
		m := write.NewMutation()
		for name := range rules {
			add(m, name)
		}
		must(table.Apply(ctx, key, m))
	}
	put := func(key string, versions ...int) {
		t.Helper()
		for _, v := range versions {
			n++
			change(key, func(m *write.Mutation, family string) {
				m.SetAt(family, "q", at(v), cells.I64(n))
				m.SetAt(family, "", at(v), cells.I64(-n))
			})
		}
	}
	add := func(versions ...int) {
		t.Helper()
		for _, v := range versions {
			n++
			m := write.NewMutation()
			m.AddAt("last", "q", at(v), cells.I64(n%5))
			m.AddAt("landings", "q", at(v), cells.I64(n))
			must(s.db.Table("airport").Apply(ctx, "KEF", m))
		}
	}
	rule := func(r *schema.Rule) {
		t.Helper()
		must(s.db.SetFamily(ctx, "fleet", schema.Family{Name: "one", GC: r}))
	}
	for _, key := range []string{"a", "a\x00", "b", "c"} {
		put(key, 1, 3, 2)
	}
	add(1, 2)
	s.quiet()
	must(os.RemoveAll(s.target)) // the first backup has these families
	s.send()
	s.sent()
	s.quiet()
	var states []state
	for i, step := range []struct {
		what string
		do   func()
	}{
		{"newer cells", func() { put("a", 5, 6); put("b", 5); add(4, 3) }},
		{"deletes of the newest version", func() {
			change("a", func(m *write.Mutation, f string) { m.DeleteCell(f, "q", at(6)) })
		}},
		{"deletes of it and the one before", func() {
			change("a", func(m *write.Mutation, f string) { m.DeleteTimestampRange(f, "q", at(4), at(6)) })
		}},
		{"the same versions twice", func() { put("a", 7, 7, 4, 7) }},
		{"deletes of versions that are written again", func() {
			change("a", func(m *write.Mutation, f string) { m.DeleteTimestampRange(f, "q", at(2), 0) })
			put("a", 4)
		}},
		{"deletes of a column", func() { change("b", func(m *write.Mutation, f string) { m.DeleteCellsInColumn(f, "q") }) }},
		{"an older version than those that were deleted", func() { put("b", 1) }},
		{"deletes of families", func() {
			change("a\x00", func(m *write.Mutation, f string) { m.DeleteCellsInFamily(f) })
			put("a\x00", 0)
		}},
		{"a load", func() {
			load(t, s.db, "fleet", "one", map[string]int64{"a": int64(at(9)), "b": int64(at(2)), "x": int64(at(1))})
			put("x", 1)
		}},
		{"a rule that keeps more", func() { rule(schema.MaxVersions(3)); put("a", 10, 11); put("x", 3) }},
		{"deletes under it", func() { change("a", func(m *write.Mutation, f string) { m.DeleteCell(f, "q", at(11)) }) }},
		{"one version again", func() { rule(one); put("a", 8); add(6, 5) }},
		{"a collection", func() { _, err := s.db.GC(ctx, "fleet", query.GCOptions{}); must(err); put("a", 12) }},
		{"another backup", func() {
			s.o.BaseEvery = time.Second
			s.clock.micros.Add(5e6)
			s.send()
			s.sent()
			s.quiet()
		}},
		{"deletes of the newest cells of the backup", func() {
			change("a", func(m *write.Mutation, f string) {
				m.DeleteCell(f, "q", at(12))
				m.DeleteTimestampRange(f, "", at(5), 0)
			})
		}},
		{"a dropped family", func() { must(s.db.DropFamily(ctx, "fleet", "all")); delete(rules, "all"); put("c", 4) }},
		{"a family of its name", func() {
			must(s.db.AddFamily(ctx, "fleet", schema.Family{Name: "all", GC: one}))
			rules["all"] = one
			put("c", 2, 5)
			put("d", 2, 1)
		}},
		{"a delete of rows", func() { must(table.DeleteRange(ctx, read.Range("a\x00", "c"))); put("b", 2, 1) }},
		{"a deleted table", func() {
			must(s.db.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: schema.DeleteTable, Table: "fleet"}}}))
			add(8)
		}},
		{"a table that is back", func() {
			must(s.db.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: schema.UndeleteTable, Table: "fleet"}}}))
			put("e", 2, 3, 1)
		}},
		{"time", func() { s.clock.micros.Add(2 * time.Hour.Microseconds()); put("a", 13) }},
		{"a row that is deleted and written", func() {
			m := write.NewMutation()
			m.DeleteRow()
			must(table.Apply(ctx, "a", m))
			put("a", 1)
			change("e", func(m *write.Mutation, f string) { m.DeleteCell(f, "q", at(3)) })
		}},
	} {
		if step.do(); i%3 == 2 { // others take too long
			states = append(states, s.state(step.what))
		}
	}
	s.send()
	s.sent()
	s.quiet()
	s.compare(states)
}
