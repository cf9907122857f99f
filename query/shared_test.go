package query_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A process is a program that has a shared store open. Closing its database leaves the
// store open for the others.
type process struct {
	*cftest.Memory
	before func() // called once, within the next write, before its commit
	dead   atomic.Bool
}

func (p *process) EndWaits()    {}
func (p *process) Close() error { return nil }

func (p *process) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return p.Memory.Update(ctx, rows, func(s cf.Snapshot, b *cf.Batch) error { return p.hooked(fn(s, b)) })
}

func (p *process) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	return p.Memory.Write(ctx, rows, func(b *cf.Batch) error { return p.hooked(fn(b)) })
}

func (p *process) hooked(err error) error {
	if hook := p.before; hook != nil {
		p.before = nil
		hook()
	}
	if p.dead.Load() {
		return errDead
	}
	return err
}

var errDead = errors.New("the process is dead")

func (p *process) open(t *testing.T, o query.Options) *query.DB {
	t.Helper()
	db, err := query.OpenStore(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// twoProcesses have a store open with a table t of a family f.
func twoProcesses(t *testing.T) (a, b *query.DB, inA, inB *process) {
	t.Helper()
	store := cftest.NewMemory()
	inA, inB = &process{Memory: store}, &process{Memory: store}
	a, b = inA.open(t, query.Options{}), inB.open(t, query.Options{})
	if a.UUID() != b.UUID() {
		t.Fatalf("databases %s and %s in one store", a.UUID(), b.UUID())
	}
	mustDo(t, a.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	return a, b, inA, inB
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tryPut(db *query.DB, key, family string, v cells.Value) error {
	m := write.NewMutation()
	m.Set(family, "q", v)
	return db.Table("t").Apply(context.Background(), key, m)
}

func expectKind(t *testing.T, err error, want query.Kind) {
	t.Helper()
	if kind := query.KindOf(err); err == nil || kind != want {
		t.Errorf("error %v of kind %v, want %v", err, kind, want)
	}
}

func TestTheSchemaOfAnotherProcessIsKnownAtOnce(t *testing.T) {
	a, b, _, _ := twoProcesses(t)
	ctx := t.Context()
	_, err := b.Table("t").ReadRow(ctx, "r")
	mustDo(t, err)
	mustDo(t, a.AddFamily(ctx, "t", schema.Family{Name: "g"}))
	mustDo(t, tryPut(b, "r", "g", cells.String("v")))
	mustDo(t, a.AddFamily(ctx, "t", schema.Family{Name: "h"}))
	if table, ok := b.Schema().Table("t"); !ok || len(table.Families) != 3 {
		t.Errorf("schema %+v", table)
	}
	mustDo(t, a.DropFamily(ctx, "t", "g"))
	row, err := b.Table("t").ReadRow(ctx, "r")
	if row != nil || err != nil {
		t.Errorf("row %v, error %v", row, err)
	}
	expectKind(t, tryPut(b, "r", "g", cells.String("v")), query.KindNotFound)
	mustDo(t, b.DropTable(ctx, "t"))
	expectKind(t, tryPut(a, "r", "f", cells.String("v")), query.KindNotFound)
	mustDo(t, b.CreateTable(ctx, schema.Table{Name: "u"}))
	if _, ok := a.LookupTable("u"); !ok {
		t.Error("there is no table u")
	}
}

// A write that was checked against one schema does not commit under another.
func TestAWriteCommitsUnderTheSchemaItWasCheckedAgainst(t *testing.T) {
	a, b, _, inB := twoProcesses(t)
	ctx := t.Context()
	typed := func() { mustDo(t, a.SetFamily(ctx, "t", schema.Family{Name: "f", Type: cells.TypeI64})) }
	for _, test := range []struct {
		name  string
		write func() error
	}{
		{"apply", func() error { return tryPut(b, "r", "f", cells.String("v")) }},
		{"apply bulk", func() error {
			m := write.NewMutation()
			m.Set("f", "q", cells.String("v"))
			errs, err := b.Table("t").ApplyBulk(ctx, []string{"r"}, []*write.Mutation{m})
			return errors.Join(append(errs, err)...)
		}},
		{"check and mutate", func() error {
			m := write.NewMutation()
			m.Set("f", "q", cells.String("v"))
			_, err := b.Table("t").CheckAndMutate(ctx, "r", nil, nil, m)
			return err
		}},
		{"read-modify-write", func() error {
			m := write.NewReadModifyWrite()
			m.AppendString("f", "q", "v")
			_, err := b.Table("t").ApplyReadModifyWrite(ctx, "r", m)
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			mustDo(t, a.SetFamily(ctx, "t", schema.Family{Name: "f"}))
			_, err := b.Table("t").ReadRow(ctx, "r") // b knows the schema
			mustDo(t, err)
			inB.before = typed
			expectKind(t, test.write(), query.KindInvalidArgument)
			if n, err := a.Table("t").Count(ctx); n.Cells != 0 || err != nil {
				t.Errorf("%d cells, error %v", n.Cells, err)
			}
		})
	}
}

// While a process changes the schema, others do not write, and the change sees all that
// they wrote before.
func TestAChangeOfTheSchemaExcludesOtherProcesses(t *testing.T) {
	a, b, inA, _ := twoProcesses(t)
	wrote := make(chan error, 1)
	inA.before = func() { // in the commit that announces the change
		go func() { wrote <- tryPut(b, "r", "f", cells.String("v")) }()
		mustDo(t, tryPut(b, "s", "f", cells.String("early")))
	}
	err := a.SetFamily(t.Context(), "t", schema.Family{Name: "f", Type: cells.TypeI64})
	expectKind(t, err, query.KindFailedPrecondition) // row s
	mustDo(t, <-wrote)
}

func TestTheChangeOfADeadProcessIsTakenOver(t *testing.T) {
	defer func(d time.Duration) { state.AlterLost = d }(state.AlterLost)
	state.AlterLost = 300 * time.Millisecond
	a, b, inA, _ := twoProcesses(t)
	ctx := t.Context()
	mustDo(t, tryPut(a, "r", "f", cells.String("v")))
	inA.before = func() { inA.before = func() { inA.dead.Store(true) } } // the first commit announces the change
	err := a.DropFamily(ctx, "t", "f")
	if !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	mustDo(t, tryPut(b, "s", "f", cells.String("w")))
	inA.dead.Store(false) // it was only slow
	mustDo(t, tryPut(a, "t", "f", cells.String("x")))
	if n, err := a.Table("t").Count(ctx); n.Cells != 3 || err != nil {
		t.Errorf("%d cells, error %v", n.Cells, err)
	}
}

func TestAWriteThatWaitsForAChangeOfTheSchemaEndsWithItsContext(t *testing.T) {
	a, b, inA, _ := twoProcesses(t)
	inA.before = func() { inA.before = func() { inA.dead.Store(true) } }
	if err := a.DropFamily(t.Context(), "t", "f"); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("f", "q", cells.String("v"))
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := b.Table("t").Apply(ctx, "r", m)
		cancel()
		if wait > time.Minute || query.KindOf(err) != query.KindCanceled { // otherwise it had not come to the wait
			expectKind(t, err, query.KindUnavailable)
			return
		}
	}
}

// The clocks of two machines differ; a later write of a row is newer all the same.
func TestTimestampsOfARowAscendAcrossProcesses(t *testing.T) {
	store := cftest.NewMemory()
	late := func() time.Time { return time.Now().Add(-time.Hour) }
	dbs := []*query.DB{
		(&process{Memory: store}).open(t, query.Options{}),
		(&process{Memory: store}).open(t, query.Options{Clock: late}),
	}
	mustDo(t, dbs[0].CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	for i := range 20 {
		mustDo(t, tryPut(dbs[i%2], "r", "f", cells.I64(int64(i))))
		n, err := dbs[(i+1)%2].Table("t").Increment(t.Context(), "r", "f", "counter", 1)
		if n != int64(i+1) || err != nil {
			t.Fatalf("counter %d, error %v", n, err)
		}
	}
	row, err := dbs[0].Table("t").ReadRow(t.Context(), "r", read.Column("f", "q"))
	mustDo(t, err)
	i := 20
	for c := range row.Cells() {
		i--
		if n, _ := c.Value.Int(); n != int64(i) {
			t.Errorf("version %d has value %d", i, n)
		}
	}
	if i != 0 {
		t.Errorf("%d versions are missing", i)
	}
	newest, _ := row.Cell("f", "q")
	if now := dbs[1].Now(); now < newest.Timestamp {
		t.Errorf("the process that wrote last has the time %v, before its write at %v", now, newest.Timestamp)
	}
}

func TestManyProcessesCreateOneDatabase(t *testing.T) {
	store := cftest.NewMemory()
	declared := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}
	ids := make([]string, 8)
	var opened sync.WaitGroup
	for i := range ids {
		opened.Go(func() {
			db, err := query.OpenStore(context.Background(), &process{Memory: store}, query.Options{Schema: declared})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if err := tryPut(db, fmt.Sprint(i), "f", cells.String("v")); err != nil {
				t.Error(err)
			}
			ids[i] = db.UUID().String()
		})
	}
	opened.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("databases %q", ids)
			break
		}
	}
}

// A declaration that cannot be made is refused on a shared store too, although it has
// raised the version of the catalog.
func TestDeclareRefusesOnASharedStore(t *testing.T) {
	declared := func(f schema.Family) *schema.Schema {
		return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{f}}}}
	}
	db, err := query.OpenStore(t.Context(), cftest.NewMemory(), query.Options{Schema: declared(schema.Family{Name: "f"})})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m := write.NewMutation()
	m.Set("f", "q", cells.I64(1))
	if err := db.Table("t").Apply(t.Context(), "r", m); err != nil {
		t.Fatal(err)
	}
	_, err = db.Declare(t.Context(), declared(schema.Family{Name: "f", Type: cells.TypeI32}))
	if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), "family f of table t") {
		t.Errorf("error %v", err)
	}
}
