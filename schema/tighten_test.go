package schema_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/schema"
)

// loses judges naively whether a table that becomes another could hide or drop a cell:
// it looks at cells of all ranks and ages around the bounds of the rules. A cell counts
// if reads show it; in a lazy table that stays lazy, a cell counts if the collection
// keeps it.
func loses(was, now *schema.Table) bool {
	for _, f := range was.Families {
		to, ok := now.Family(f.Name)
		if !ok {
			return true
		}
		for rank := 1; rank <= 6; rank++ {
			for age := -day; age <= 6*day; age += 12 * time.Hour {
				shown := !drops(f.GC, rank, age)
				if was.Retention == schema.Lazy && now.Retention == schema.Exact {
					shown = !hidden(was.Retention, f.GC, rank, age)
				}
				if shown && drops(to.GC, rank, age) {
					return true
				}
			}
		}
	}
	return now.ChangeStream < was.ChangeStream
}

// hidden reports whether reads hide a cell: in a lazy table, if it is dropped
// independently of its rank.
func hidden(e schema.Enforcement, r *schema.Rule, rank int, age time.Duration) bool {
	if e == schema.Lazy {
		rank = 1
	}
	return drops(r, rank, age)
}

func anyLoss(existing, next *schema.Schema) bool {
	return slices.ContainsFunc(existing.Tables, func(t schema.Table) bool {
		now, ok := next.Table(t.Name)
		return !ok || loses(&t, now)
	})
}

// The first part of a split hides no cell, for any rules. Each change of the second
// part hides or drops some cells, at the latest after the changes before it. Together
// the two parts are the plan.
func TestASplitPlanLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		existing, declared := anySchema().Draw(t, "existing"), anySchema().Draw(t, "declared")
		plan := schema.Diff(existing, declared)
		adds, takes := plan.Split(existing)
		mid, err := adds.Apply(existing)
		if err != nil {
			t.Fatal(err)
		}
		if anyLoss(existing, mid) {
			t.Fatalf("this loses cells:\n%vof\n%s", adds, outline(existing))
		}
		for _, c := range takes.Changes {
			next, err := schema.Plan{Changes: []schema.Change{c}}.Apply(mid)
			if err != nil {
				t.Fatal(err)
			}
			if !anyLoss(mid, next) && !c.Destructive() {
				t.Fatalf("%v loses nothing of\n%s", c, outline(mid))
			}
		}
		end, err := takes.Apply(mid)
		if err != nil {
			t.Fatal(err)
		}
		if !same(end, declared) {
			t.Fatalf("got\n%s\nwant\n%s", outline(end), outline(declared))
		}
	})
}

// The tightenings of a plan are the families that it makes lose cells.
func TestTighteningsAreWhatAPlanHides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		existing, declared := anySchema().Draw(t, "existing"), anySchema().Draw(t, "declared")
		plan := schema.Diff(existing, declared).WithoutDrops()
		next, err := plan.Apply(existing)
		if err != nil {
			t.Fatal(err)
		}
		got := plan.Tightenings(existing)
		for _, was := range existing.Tables {
			now, _ := next.Table(was.Name)
			for _, f := range was.Families {
				to, _ := now.Family(f.Name)
				one := schema.Table{Retention: was.Retention, Families: []schema.Family{f}}
				other := schema.Table{Retention: now.Retention, Families: []schema.Family{*to}}
				found := slices.ContainsFunc(got, func(g schema.Tightening) bool { return g.Table == was.Name && g.Family == f.Name })
				if want := loses(&one, &other); found != want {
					t.Fatalf("%s/%v %v becomes %v %v: found %v, want %v", was.Name, f, was.Retention, to, now.Retention, found, want)
				}
			}
		}
	})
}

func TestSplit(t *testing.T) {
	existing := mustParse(t, `tables: [{name: t, change_stream: 7d, families: [{name: a, max_versions: 3}, {name: b, max_age: 7d}, {name: c}, {name: d}]},
		{name: lazy, retention: lazy, families: [{name: a, max_versions: 3}]}, {name: gone, families: [{name: a}]},
		{name: young, retention: lazy, families: [{name: a, max_age: 9d}]}]`)
	declared := mustParse(t, `tables: [{name: t, change_stream: 1d, families: [{name: a, max_versions: 1}, {name: b, max_age: 9d}, {name: c, type: i64}, {name: e, max_versions: 1}]},
		{name: lazy, families: [{name: a, max_versions: 3}]}, {name: new, families: [{name: a, max_versions: 1}]},
		{name: young, families: [{name: a, max_age: 9d}, {name: b, max_versions: 1}]}]`)
	adds, takes := schema.Diff(existing, declared).Split(existing)
	wantAdds := "+ table new (family a)\n~ family t/b retention max_age=1w -> max_age=9d\n~ family t/c type any -> i64\n+ family t/e max_versions=1\n~ table young retention lazy -> exact\n+ family young/b max_versions=1\n"
	wantTakes := "~ table lazy retention lazy -> exact\n~ table t change_stream 1w -> 1d\n~ family t/a retention max_versions=3 -> max_versions=1\n- table gone (family a) (drops its data)\n- family t/d (drops its data)\n"
	if adds.String() != wantAdds {
		t.Errorf("adds\n%vwant\n%s", adds, wantAdds)
	}
	if takes.String() != wantTakes {
		t.Errorf("takes\n%vwant\n%s", takes, wantTakes)
	}
	if adds, takes := schema.Diff(nil, declared).Split(nil); !takes.Empty() || len(adds.Changes) != 4 {
		t.Errorf("a new database: %v and %v", adds, takes)
	}
}
