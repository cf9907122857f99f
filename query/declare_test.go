package query_test

import (
	"bytes"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// cellsOf is the number of cells in a read of row r.
func cellsOf(t *testing.T, db *query.DB) int {
	t.Helper()
	row, err := db.Table("t").ReadRow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	return row.Len()
}

// Opening a database with any schema hides no data, and neither does opening it with
// another schema later; each open is logged.
func TestOpeningNeverHidesWhatIsThere(t *testing.T) {
	keep := func(r *schema.Rule) *schema.Schema {
		return &schema.Schema{Tables: []schema.Table{{Name: "t", ChangeStream: schema.MaxChangeStream, Families: []schema.Family{{Name: "f", GC: r}}}}}
	}
	began := time.UnixMicro(1 << 50)
	for name, tighter := range map[string]func(*schema.Table){
		"versions": func(t *schema.Table) { t.Families[0].GC = schema.MaxVersions(1) },
		"age":      func(t *schema.Table) { t.Families[0].GC = schema.Any(schema.MaxVersions(3), schema.MaxAge(time.Hour)) },
		"one of two": func(t *schema.Table) {
			t.Families[0].GC = schema.All(schema.MaxVersions(1), schema.MaxAge(30*time.Minute))
		},
		"traded":     func(t *schema.Table) { t.Families[0].GC = schema.MaxAge(time.Hour) },
		"the stream": func(t *schema.Table) { t.ChangeStream = schema.MinChangeStream },
		"no stream":  func(t *schema.Table) { t.ChangeStream = 0 },
		"no table":   func(t *schema.Table) { t.Name = "u" },
		"no family":  func(t *schema.Table) { t.Families[0].Name = "g" },
	} {
		dir := t.TempDir()
		open := func(s *schema.Schema) (*query.DB, string) {
			var log bytes.Buffer
			db := mustOpen(t, dir, query.Options{Schema: s, Clock: func() time.Time { return began.Add(2 * time.Hour) },
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			return db, log.String()
		}
		wide := keep(schema.MaxVersions(3))
		db, _ := open(wide)
		for i := range 3 {
			m := write.NewMutation()
			m.SetAt("f", "q", cells.TimestampOf(began.Add(time.Duration(i)*time.Hour)), cells.I64(int64(i)))
			if err := db.Table("t").Apply(ctx, "r", m); err != nil {
				t.Fatal(err)
			}
		}
		db.Close()
		declared := wide.Clone()
		tighter(&declared.Tables[0])
		for range 2 {
			db, log := open(declared)
			if told, drops := strings.Contains(log, "hides or drops"), strings.HasPrefix(name, "no ") && name != "no stream"; told == drops {
				t.Errorf("%s: the log says %q", name, log)
			}
			if _, err := db.GC(ctx, "t", query.GCOptions{Compact: true}); err != nil {
				t.Fatal(err)
			}
			if n := cellsOf(t, db); n != 3 {
				t.Errorf("%s: %d of 3 cells are left", name, n)
			}
			if s := db.Schema(); s.Tables[0].ChangeStream != schema.MaxChangeStream {
				t.Errorf("%s: the change stream is kept for %v", name, s.Tables[0].ChangeStream)
			}
			db.Close()
		}
		db, log := open(wide)
		if n := cellsOf(t, db); n != 3 || log != "" {
			t.Errorf("%s: declared as before, %d of 3 cells are left, and the log says %q", name, n, log)
		}
		db.Close()
	}
}

// From lazy to exact is a step that hides, where a rule counts.
func TestOpeningDoesNotMakeALazyTableExact(t *testing.T) {
	dir := t.TempDir()
	lazy := declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)})
	lazy.Tables[0].Retention = schema.Lazy
	db := mustOpen(t, dir, query.Options{Schema: lazy})
	put(t, db, "r", "f", "q", cells.I64(1))
	put(t, db, "r", "f", "q", cells.I64(2))
	db.Close()
	exact := declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)})
	db = mustOpen(t, dir, query.Options{Schema: exact})
	if n := cellsOf(t, db); n != 2 {
		t.Errorf("%d of 2 versions are left", n)
	}
	undone, err := db.Declare(ctx, exact)
	if err != nil || undone.String() != "~ table t retention lazy -> exact\n" {
		t.Errorf("undone is %v, %v", undone, err)
	}
	if err := db.ApplyPlan(ctx, undone); err != nil {
		t.Fatal(err)
	}
	if n := cellsOf(t, db); n != 1 {
		t.Errorf("applied, it leaves %d versions", n)
	}
}

func TestDeclareRefuses(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f"})})
	put(t, db, "r", "f", "q", cells.I64(1))
	_, err := db.Declare(ctx, declare(schema.Family{Name: "f", Type: cells.TypeI32}))
	wantError(t, err, query.KindFailedPrecondition, "family f of table t")
	_, err = db.Declare(ctx, declare(schema.Family{Name: ":"}))
	wantError(t, err, query.KindInvalidArgument, `":"`)
	_, err = db.Declare(ctx, nil)
	wantError(t, err, query.KindInvalidArgument, "no schema")
	db.Close()
	db, err = query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Declare(ctx, declare(schema.Family{Name: "g"}))
	wantError(t, err, query.KindFailedPrecondition, "read")
}

// Every function that takes a rule refuses one that contains itself.
func TestACyclicRuleIsRefused(t *testing.T) {
	rule := &schema.Rule{}
	rule.All = []*schema.Rule{rule, schema.MaxVersions(1)}
	f := schema.Family{Name: "f", GC: rule}
	_, err := query.OpenInMemory(query.Options{Schema: declare(f)})
	wantError(t, err, query.KindInvalidArgument, "families[0](f)")
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	for name, do := range map[string]func() error{
		"declare":      func() error { _, err := db.Declare(ctx, declare(f)); return err },
		"create table": func() error { return db.CreateTable(ctx, schema.Table{Name: "u", Families: []schema.Family{f}}) },
		"add family":   func() error { return db.AddFamily(ctx, "t", schema.Family{Name: "g", GC: rule}) },
		"set family":   func() error { return db.SetFamily(ctx, "t", f) },
		"apply plan":   func() error { return db.ApplyPlan(ctx, schema.Diff(db.Schema(), declare(f))) },
	} {
		if err := do(); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CheckPlan refuses the same plans as ApplyPlan, also for a database that is open for
// reading, and changes nothing.
func TestCheckPlanRefusesWhatApplyPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f"}, schema.Family{Name: "empty"})})
	put(t, db, "r", "f", "q", cells.I64(1))
	plans := map[string]schema.Plan{}
	for name, c := range map[string]schema.Change{
		"a type with data":       {Kind: schema.SetType, Table: "t", Family: "f", New: schema.Family{Type: cells.TypeI32}},
		"a type without data":    {Kind: schema.SetType, Table: "t", Family: "empty", New: schema.Family{Type: cells.TypeI32}},
		"an aggregate with data": {Kind: schema.SetAggregate, Table: "t", Family: "f", New: schema.Family{Aggregate: schema.AggregateSum}},
		"no such family":         {Kind: schema.DropFamily, Table: "t", Family: "g"},
		"no such table":          {Kind: schema.DropTable, Table: "u"},
		"a table twice":          {Kind: schema.CreateTable, Table: "t"},
		"a bad rule":             {Kind: schema.SetRetention, Table: "t", Family: "f", New: schema.Family{GC: schema.MaxVersions(-1)}},
		"a drop":                 {Kind: schema.DropFamily, Table: "t", Family: "f"},
		"a stricter rule":        {Kind: schema.SetRetention, Table: "t", Family: "f", New: schema.Family{GC: schema.MaxVersions(1)}},
	} {
		plans[name] = schema.Plan{Changes: []schema.Change{c}}
	}
	before := db.Schema()
	verdicts := map[string]error{}
	for name, plan := range plans {
		verdicts[name] = db.CheckPlan(ctx, plan)
	}
	if !db.Schema().Equal(before) || cellsOf(t, db) != 1 {
		t.Error("a check has changed something")
	}
	reader, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for name, plan := range plans {
		read := reader.CheckPlan(ctx, plan)
		copied := openMemory(t, before)
		put(t, copied, "r", "f", "q", cells.I64(1))
		applied := copied.ApplyPlan(ctx, plan)
		if got := verdicts[name]; query.KindOf(got) != query.KindOf(applied) || query.KindOf(read) != query.KindOf(applied) {
			t.Errorf("%s: checked %v, checked by a reader %v, applied %v", name, got, read, applied)
		}
	}
}

// A program that declares its schema learns which cells that would hide, and decides.
func ExampleDB_Declare() {
	families := []schema.Family{{Name: "f", GC: schema.MaxVersions(3)}}
	db, err := query.OpenInMemory(query.Options{Schema: declare(families...)})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for i := range 3 {
		m := write.NewMutation()
		m.Set("f", "q", cells.I64(int64(i)))
		if err := db.Table("t").Apply(ctx, "r", m); err != nil {
			log.Fatal(err)
		}
	}

	undone, err := db.Declare(ctx, declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)}, schema.Family{Name: "g"}))
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range undone.Changes {
		cells, _, err := db.EstimateHidden(ctx, change)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(change, "would hide", cells, "cells")
	}
	if err := db.ApplyPlan(ctx, undone); err != nil { // it is meant
		log.Fatal(err)
	}
	fmt.Println(schema.Diff(nil, db.Schema()))
	// Output:
	// ~ family t/f retention max_versions=3 -> max_versions=1 would hide 2 cells
	// + table t (families f, g)
}
