package querytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A retentionHistory is a history whose rules change. The model forgets a cell for good as soon as a rule
// drops it; so the visible cells must depend neither on compactions and collections nor
// on later rules.
type retentionHistory struct {
	*history
	operations int
}

// someRule draws a rule of few versions and short ages.
var someRule = rapid.Custom(func(t *rapid.T) *schema.Rule {
	versions := func() *schema.Rule { return schema.MaxVersions(rapid.IntRange(1, 4).Draw(t, "versions")) }
	age := func() *schema.Rule {
		return schema.MaxAge(time.Duration(rapid.IntRange(1, 30).Draw(t, "age")) * time.Microsecond)
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind of rule") {
	case 0:
		return nil
	case 1:
		return versions()
	case 2:
		return age()
	case 3:
		return schema.Any(versions(), age())
	case 4:
		return schema.All(versions(), age())
	}
	return schema.Any(versions(), schema.All(versions(), age()), age())
})

func (h *retentionHistory) alter(t *rapid.T) {
	f := schema.Family{Name: h.draw.family.Draw(t, "family"), GC: someRule.Draw(t, "rule")}
	h.model.sorted() // cells that the old rule dropped stay dropped
	if err := h.db.SetFamily(context.Background(), historyTable, f); err != nil {
		t.Fatal(err)
	}
	h.model.rules[f.Name] = f.GC
}

func (h *retentionHistory) collect(t *rapid.T) {
	o := query.GCOptions{Compact: rapid.Bool().Draw(t, "compact")}
	dry, err := h.db.GC(context.Background(), historyTable, query.GCOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	h.check(t, "after a dry run")
	r, err := h.db.GC(context.Background(), historyTable, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.Families { // expired cells may have been dropped meanwhile
		if d := dry.Families[i]; f.Surplus != d.Surplus || f.SurplusBytes != d.SurplusBytes {
			t.Fatalf("collected %+v; the dry run had announced %+v", f, d)
		}
	}
	h.check(t, "after a collection")
	if r, err = h.db.GC(context.Background(), historyTable, query.GCOptions{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Families {
		if f.Surplus != 0 || o.Compact && f.Expired != 0 {
			t.Fatalf("a collection (compact: %v) has left %+v", o.Compact, f)
		}
	}
}

func (h *retentionHistory) compact(t *rapid.T) {
	if err := h.table().Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.check(t, "after a compaction")
}

func (h *retentionHistory) flush(t *rapid.T) {
	if err := h.table().Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (h *retentionHistory) reopen(t *rapid.T) {
	h.close(t)
	h.open(t)
	h.check(t, "after reopening")
}

func (h *retentionHistory) wait(t *rapid.T) { h.model.now += genTime.Draw(t, "later") / 2 }

// check compares everything that is visible.
func (h *retentionHistory) check(t *rapid.T, when string) {
	got, want := []string{}, []string{}
	for row, err := range h.table().ReadRows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			got = append(got, fmt.Sprintf("%q %s:%q@%d=%v", row.Key(), c.Family, c.Qualifier, c.Timestamp, c.Value))
		}
	}
	for _, id := range h.model.sorted() {
		want = append(want, fmt.Sprintf("%q %s:%q@%d=%v", id.row, id.family, id.qualifier, id.ts, h.model.cells[id]))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s, at %d under %v: got\n%s\nwant\n%s", when, h.model.now, h.model.rules, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// step is one operation: mostly writes, of any timestamps, and deletes.
func (h *retentionHistory) step(t *rapid.T) {
	h.operations++
	switch n := rapid.IntRange(0, 999).Draw(t, "operation"); {
	case n < 600:
		h.apply(t)
	case n < 700:
		h.applyBatch(t)
	case n < 720:
		h.deleteRange(t)
	case n < 810:
		h.flush(t)
	case n < 880:
		h.wait(t)
	case n < 915:
		h.alter(t)
	case n < 930:
		h.compact(t)
	case n < 945:
		h.collect(t)
	case n < 950:
		h.reopen(t)
	default:
		h.check(t, "meanwhile")
	}
}

// Retention drives a database through long histories under rules that change. Each
// check compares everything that is visible. Places with small files, whose boundaries
// fall within columns, find most.
func Retention(t *testing.T, places func() Place) {
	var operations atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		p := places()
		defer p.Remove()
		h := &retentionHistory{history: newHistory(t, p, query.Options{GCInterval: -1})}
		defer h.close(t)
		for range rapid.IntRange(220, 280).Draw(t, "operations") {
			h.step(t)
		}
		h.check(t, "in the end")
		h.compact(t)
		h.collect(t)
		h.reopen(t)
		operations.Add(int64(h.operations))
	})
	t.Logf("%d operations", operations.Load())
}
