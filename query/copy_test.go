package query_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func newMemory(t testing.TB, o query.Options) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func setCell(t testing.TB, db *query.DB, key, qualifier string, n int64) {
	t.Helper()
	m := write.NewMutation()
	m.SetAt("f", qualifier, cells.Timestamp(n), cells.I64(n))
	if err := db.Table("t").Apply(t.Context(), key, m); err != nil {
		t.Fatal(err)
	}
}

func TestACopyRefusesOtherTargets(t *testing.T) {
	ctx := t.Context()
	from := newMemory(t, query.Options{Schema: declare(schema.Family{Name: "f"})})
	setCell(t, from, "r", "q", 1)
	used := newMemory(t, query.Options{})
	if err := used.Plumbing().SetNote(ctx, "mine", []byte("x")); err != nil {
		t.Fatal(err)
	}
	others := newMemory(t, query.Options{})
	if _, err := others.CopyFrom(ctx, newMemory(t, query.Options{}), query.CopyOptions{Unfinished: true}); err != nil {
		t.Fatal(err)
	}
	finished := newMemory(t, query.Options{})
	if _, err := finished.CopyFrom(ctx, from, query.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		to   *query.DB
		o    query.CopyOptions
		want string
	}{
		{from, query.CopyOptions{}, "the same database"},
		{used, query.CopyOptions{}, "the target is not empty"},
		{finished, query.CopyOptions{}, "it has a table (t)"},
		{others, query.CopyOptions{}, "the unfinished copy of another database"},
		{newMemory(t, query.Options{}), query.CopyOptions{Tables: []string{"u"}}, `unknown table "u"`},
		{newMemory(t, query.Options{}), query.CopyOptions{Follow: true}, `the statement "alter table t set change_stream=7d" gives it one`},
		{newMemory(t, query.Options{}), query.CopyOptions{UntilEqual: true}, "UntilEqual is an option of Follow"},
	} {
		before := test.to.Schema()
		if _, err := test.to.CopyFrom(ctx, from, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, not %q", err, test.want)
		}
		if after := test.to.Schema(); !schema.Diff(before, after).Empty() {
			t.Errorf("the target has %+v", after)
		}
	}
}

func TestCompareNamesTheCellsThatDiffer(t *testing.T) {
	ctx := t.Context()
	a := newMemory(t, query.Options{Schema: declare(schema.Family{Name: "f"})})
	b := newMemory(t, query.Options{})
	for i := range int64(20) {
		setCell(t, a, fmt.Sprintf("%02d", i), "q", 5)
	}
	if _, err := b.CopyFrom(ctx, a, query.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	setCell(t, b, "03", "p", 4)
	setCell(t, a, "01", "q", 6)
	m := write.NewMutation()
	m.SetAt("f", "q", 5, cells.I64(7))
	if err := b.Table("t").Apply(ctx, "12", m); err != nil {
		t.Fatal(err)
	}
	c, err := a.Compare(ctx, b, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Count, c.Differences)
	want := "3 [{t 01 f q 6 missing in the target} {t 03 f p 4 only in the target} {t 12 f q 5 has another value in the target}]"
	if got != want || c.Equal() {
		t.Errorf("%s, not\n%s", got, want)
	}
	if err := b.AddFamily(ctx, "t", schema.Family{Name: "g"}); err != nil {
		t.Fatal(err)
	}
	if c, err = a.Compare(ctx, b, nil, nil); err != nil || len(c.Schema.Changes) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// A server keeps the history of its metrics in a table that is not copied.
func TestCompareLeavesOutTablesThatAreNotCopied(t *testing.T) {
	a := newMemory(t, query.Options{Schema: declare(schema.Family{Name: "f"})})
	b := newMemory(t, query.Options{})
	setCell(t, a, "r", "q", 5)
	if err := a.CreateTable(t.Context(), schema.Table{Name: schema.HistoryTable, Families: []schema.Family{{Name: "s"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.CopyFrom(t.Context(), a, query.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, dbs := range [][2]*query.DB{{a, b}, {b, a}} {
		if c, err := dbs[0].Compare(t.Context(), dbs[1], nil, nil); err != nil || !c.Equal() {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// A change of the source's schema ends a copy that follows. The next one makes the same
// change.
func TestACopyMeetsAChangeOfTheSchema(t *testing.T) {
	s := declare(schema.Family{Name: "f"}, schema.Family{Name: "n", Type: cells.TypeI64})
	s.Tables[0].ChangeStream = 24 * time.Hour
	from, to := newMemory(t, query.Options{Schema: s}), newMemory(t, query.Options{})
	setCell(t, from, "r", "q", 1)
	altered := false
	_, err := to.CopyFrom(t.Context(), from, query.CopyOptions{Follow: true, Progress: func(p query.CopyProgress) {
		if !p.Following || altered {
			return
		}
		altered = true
		if err := from.DropFamily(t.Context(), "t", "n"); err != nil {
			t.Error(err)
		}
		if err := from.AddFamily(t.Context(), "t", schema.Family{Name: "n", Type: cells.TypeString}); err != nil {
			t.Error(err)
		}
	}})
	if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(fmt.Sprint(err), "schema was changed meanwhile") {
		t.Fatal(err)
	}
	if _, err := to.CopyFrom(context.Background(), from, query.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if plan := schema.Diff(to.Schema(), from.Schema()); !plan.Empty() {
		t.Error(plan)
	}
}

// interrupted is a store on which the end of a call's context leaves the outcome of a write
// unknown, as a commit over a network does.
type interrupted struct {
	*cftest.Memory
	interrupt context.CancelFunc
}

func (s *interrupted) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	if s.interrupt == nil {
		return s.Memory.Write(ctx, rows, fn)
	}
	s.interrupt()
	return 0, cf.ErrUnknownOutcome
}

// An interrupted copy says that it was canceled, since the next one finds out what its last
// write did.
func TestAnInterruptedCopyHasNoUnknownOutcome(t *testing.T) {
	from := newMemory(t, query.Options{Schema: declare(schema.Family{Name: "f"})})
	store := &interrupted{Memory: cftest.NewMemory()}
	to, err := query.OpenStore(t.Context(), store, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	store.interrupt = cancel
	if _, err := to.CopyFrom(ctx, from, query.CopyOptions{}); query.KindOf(err) != query.KindCanceled {
		t.Errorf("%v is of kind %v", err, query.KindOf(err))
	}
	ctx, store.interrupt = t.Context(), func() {}
	if _, err := to.CopyFrom(ctx, from, query.CopyOptions{}); query.KindOf(err) != query.KindUnknownOutcome {
		t.Errorf("without an interruption: %v is of kind %v", err, query.KindOf(err))
	}
}
