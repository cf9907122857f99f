//go:build cgo

package query_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A retentionHistory is a history whose rules change, on files so small
// that their boundaries fall within columns. The model forgets a cell for good
// as soon as a rule drops it; so what is visible must depend neither on what
// compactions and collections have removed nor on which rules have come since.
type retentionHistory struct {
	history
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

func (h *retentionHistory) open(t *rapid.T) {
	db, err := query.OpenTiny(h.dir, query.Options{
		Schema: historySchema(), Durability: query.DurabilityAsync, Memory: 16 << 20, GCInterval: -1,
		Clock: func() time.Time { return h.model.now.Time() },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.db = db
}

func (h *retentionHistory) alter(t *rapid.T) {
	f := schema.Family{Name: h.draw.family.Draw(t, "family"), GC: someRule.Draw(t, "rule")}
	h.model.sorted() // what the old rule has dropped is gone
	if err := h.db.SetFamily(ctx, historyTable, f); err != nil {
		t.Fatal(err)
	}
	h.model.rules[f.Name] = f.GC
}

func (h *retentionHistory) collect(t *rapid.T) {
	o := query.GCOptions{Compact: rapid.Bool().Draw(t, "compact")}
	dry, err := h.db.GC(ctx, historyTable, query.GCOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	h.check(t, "after a dry run")
	r, err := h.db.GC(ctx, historyTable, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.Families { // expired cells may have been dropped meanwhile
		if d := dry.Families[i]; f.Surplus != d.Surplus || f.SurplusBytes != d.SurplusBytes {
			t.Fatalf("collected %+v; the dry run had announced %+v", f, d)
		}
	}
	h.check(t, "after a collection")
	if r, err = h.db.GC(ctx, historyTable, query.GCOptions{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Families {
		if f.Surplus != 0 || o.Compact && f.Expired != 0 {
			t.Fatalf("a collection (compact: %v) has left %+v", o.Compact, f)
		}
	}
}

func (h *retentionHistory) compact(t *rapid.T) {
	if err := h.table().Compact(ctx); err != nil {
		t.Fatal(err)
	}
	h.check(t, "after a compaction")
}

func (h *retentionHistory) flush(t *rapid.T) {
	if err := h.table().Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func (h *retentionHistory) reopen(t *rapid.T) {
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
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

func TestWhatIsVisibleDoesNotDependOnWhatIsRemoved(t *testing.T) {
	var operations atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(memoryDir(), "smolwc-retention-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		h := &retentionHistory{history: history{dir: dir, draw: drawNames(t),
			model: model{now: 30, rules: maps.Clone(historyRules), cells: map[cellID]cells.Value{}}}}
		h.open(t)
		defer func() {
			if err := h.db.Close(); err != nil {
				t.Fatal(err)
			}
		}()
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
