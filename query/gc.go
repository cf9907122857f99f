package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/gc"
)

// GCOptions say what [DB.GC] does.
type GCOptions struct {
	// DryRun finds the cells to remove and changes nothing.
	DryRun bool
	// Compact rewrites the table's files in the end, which frees all space at once;
	// otherwise the space becomes free as the engine compacts.
	Compact bool
}

// A GCReport is the result of [DB.GC] for a table.
type GCReport struct {
	Table    string
	DryRun   bool
	Families []GCFamily // in the order of their names
}

// A GCFamily is the result of [DB.GC] for one family. The bytes are those of row
// keys, qualifiers, timestamps and values, before compression.
type GCFamily struct {
	Family  string
	Scanned int64 // cells looked at
	// Surplus cells are those beyond the number of versions to keep that are not
	// expired. They are deleted.
	Surplus, SurplusBytes int64
	// Expired cells are too old whatever their rank. Compactions drop them.
	Expired, ExpiredBytes int64
}

// Cells is how many cells are removed, or would be.
func (r *GCReport) Cells() (n int64) {
	for _, f := range r.families() {
		n += f.Surplus + f.Expired
	}
	return n
}

// Bytes is how many bytes are removed, or would be.
func (r *GCReport) Bytes() (n int64) {
	for _, f := range r.families() {
		n += f.SurplusBytes + f.ExpiredBytes
	}
	return n
}

func (r *GCReport) families() []GCFamily {
	if r == nil {
		return nil
	}
	return r.Families
}

// GC removes the cells that the retention rules of a table have dropped. It reads
// the table and deletes surplus versions a few columns at a time, under their
// rows' locks; it leaves expired cells to compactions. Visible cells do not
// change, except that a table with lazy retention no longer shows its surplus
// versions.
//
// It works at most half of the time and rests for the remainder. The context may stop
// it at any point; the report then covers the part that was done. It may miss cells
// that are written meanwhile.
func (db *DB) GC(ctx context.Context, table string, o GCOptions) (GCReport, error) {
	const op = "gc"
	if err := db.ready(ctx); err != nil {
		return GCReport{Table: table}, fail(op, table, "", err)
	}
	if db.state.ReadOnly && !o.DryRun {
		return GCReport{Table: table}, fail(op, table, "", cf.ErrReadOnly)
	}
	r, err := db.gc(ctx, table, gcRun{GCOptions: o, share: 0.5, families: func(*catalog.Family) bool { return true },
		compacts: func(*GCFamily) bool { return o.Compact }})
	return r, fail(op, table, "", err)
}

// A gcRun is the settings of one run of the collection.
type gcRun struct {
	GCOptions
	share    float64                    // the share of the time that it may take
	families func(*catalog.Family) bool // the families to look at
	compacts func(*GCFamily) bool       // the families to compact
}

func (db *DB) gc(ctx context.Context, table string, run gcRun) (GCReport, error) {
	report := GCReport{Table: table, DryRun: run.DryRun}
	info, err := db.state.Catalog.Load().Table(table)
	if err != nil {
		return report, err
	}
	for _, f := range info.Families {
		if !run.families(f) {
			continue
		}
		found, err := gc.Collect(ctx, db.state, table, f, run.share, run.DryRun)
		family := GCFamily(found)
		report.Families = append(report.Families, family)
		if err != nil {
			return report, err
		}
		if run.DryRun || !run.compacts(&family) {
			continue
		}
		if err := db.state.AllowExpiry(ctx, db.state.Clock.Now()); err != nil {
			return report, err
		}
		if err := db.state.Store.Compact(ctx, f.Store, cf.Range{}); err != nil {
			return report, err
		}
	}
	return report, nil
}
