package branch

import (
	"context"
	"errors"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/schema"
)

// A Difference is a cell that a branch has not in common with its base.
type Difference struct {
	Table, Row, Family, Qualifier string
	Timestamp                     cells.Timestamp
	// Was is the value in the base, Is that in the branch; the zero value is no cell.
	Was, Is cells.Value
}

// A DiffReport is the result of [Diff].
type DiffReport struct {
	// Schema are the changes of tables and families that were made in the branch.
	Schema schema.Plan
	// Rows is the number of rows with cells that differ.
	Rows int64
	// Added, Removed and Changed are numbers of cells.
	Added, Removed, Changed int64
}

// memory is for each database that is compared with another one: the least, as blocks are read once.
const memory = 16 << 20

// wholly is all rows.
var wholly = []cf.Range{{}}

// Diff calls fn for each cell that the branch has not in common with its base, in the order of
// tables, rows, families and qualifiers, the newest first. It reads both; another process may
// be writing the branch. Cells that retention drops sooner or later in one of them are left
// out. An error of fn ends it and is returned unchanged.
func Diff(ctx context.Context, b Branch, fn func(Difference) error) (DiffReport, error) {
	var report DiffReport
	if fn == nil {
		return report, fail("diff branch", errorf(query.KindInvalidArgument, "fn is missing"))
	}
	base, theirs, err := b.open(b.Dir)
	if err != nil {
		return report, fail("diff branch", err)
	}
	defer func() { _ = errors.Join(theirs.Close(), base.Close()) }() // they were only read
	was, is := base.Schema(), theirs.Schema()
	report.Schema = schema.Diff(was, is)
	var names []string
	for _, s := range []*schema.Schema{was, is} {
		for _, t := range s.Tables {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	for _, table := range slices.Compact(names) {
		row, some := "", false
		err := base.Plumbing().Diverge(ctx, table, []plumbing.DB{theirs.Plumbing()}, wholly, func(c *plumbing.Column) error {
			if !some || row != c.Row {
				row, some = c.Row, true
				report.Rows++
			}
			for _, v := range c.Versions {
				switch {
				case !v.In[0].Exists():
					report.Added++
				case !v.In[1].Exists():
					report.Removed++
				default:
					report.Changed++
				}
				if err := fn(Difference{table, c.Row, c.Family, c.Qualifier, v.Timestamp, v.In[0].Value, v.In[1].Value}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// open opens the base and the branch for reading. The branch, or a copy of it, is in dir.
func (b Branch) open(dir string) (base, theirs *query.DB, err error) {
	if theirs, err = query.OpenReadOnly(dir, query.Options{Memory: memory}); err != nil {
		return nil, nil, err
	}
	if base, err = query.OpenReadOnly(b.Base, query.Options{Memory: memory}); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	if got := theirs.UUID().String(); got != b.ID {
		err := errorf(query.KindFailedPrecondition, "%s has the database %s, and the branch %q is %s", dir, got, b.Name, b.ID)
		return nil, nil, errors.Join(err, theirs.Close(), base.Close())
	}
	return base, theirs, nil
}
