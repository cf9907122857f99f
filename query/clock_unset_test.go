package query_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A machine that starts in 1970 until its clock is set: the database opens, writes are in
// their order, and retention by age follows the clock.
func TestAClockThatNobodyHasSet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	declared := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "kept", GC: schema.MaxVersions(1)}, {Name: "aged", GC: schema.MaxAge(24 * time.Hour)},
	}}}}
	booted, set := time.Unix(5, 0), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var last cells.Timestamp
	for _, c := range []struct {
		clock time.Time
		value int64
		aged  int // visible cells of the family whose cells age
	}{{booted, 1, 1}, {set, 2, 1}, {booted, 3, 2}, {set.Add(time.Hour), 4, 3}} {
		db, err := query.Open(dir, query.Options{Schema: declared, Clock: func() time.Time { return c.clock }})
		if err != nil {
			t.Fatal(err)
		}
		m := write.NewMutation()
		m.Set("kept", "q", cells.I64(c.value))
		m.Set("aged", "q", cells.I64(c.value))
		if err := db.Table("t").Apply(t.Context(), "k", m); err != nil {
			t.Fatal(err)
		}
		row, err := db.Table("t").ReadRow(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		aged := 0
		for cell := range row.Cells() {
			switch {
			case cell.Family == "aged":
				aged++
			case !cell.Value.Equal(cells.I64(c.value)) || cell.Timestamp <= last:
				t.Errorf("in %d the newest cell is %v, after %d", c.clock.Year(), cell, last)
			default:
				last = cell.Timestamp
			}
		}
		if aged != c.aged && (aged != 3 || c.clock != booted) { // the first cell may be removed yet or not
			t.Errorf("in %d there are %d cells that age, want %d", c.clock.Year(), aged, c.aged)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
