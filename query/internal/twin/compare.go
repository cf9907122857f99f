package twin

import (
	"bytes"
	"context"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/tally"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// A Difference is a cell that two databases do not have in common.
type Difference struct {
	Table, Row, Family, Qualifier string
	Timestamp                     cells.Timestamp
	In                            Place
}

// A Place says which of two databases contains a cell.
type Place int

// The places.
const (
	InFrom Place = iota // only in the first
	InTo                // only in the second
	InBoth              // with different values
)

// String says it of "the source" and "the target".
func (p Place) String() string {
	return [...]string{"missing in the target", "only in the target", "has another value in the target"}[p]
}

// A moment is snapshots of two databases.
type moment struct{ from, to cf.Snapshot }

// rule hides the cells of a family that retention drops sooner or later: each of the two
// databases may still have them or not.
func rule(f *catalog.Family, now cells.Timestamp) cf.Filter {
	return cf.Filter{Retention: catalog.RetentionAt(f.Rule, now)}
}

// shown hides the cells that reads hide.
func shown(f *catalog.Family, now cells.Timestamp) cf.Filter {
	return cf.Filter{Retention: f.Retention(now)}
}

// A visit compares the cells of one family.
type visit struct {
	from, to  cf.Scan
	sums      [2]tally.Summer
	different func(Place, *tally.Walk) error // the cell; for InBoth the first database's
}

func (v *visit) run(ctx context.Context, at moment) error {
	from, err := tally.Start(ctx, at.from, v.from)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := tally.Start(ctx, at.to, v.to)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := v.next(ctx, from, 0); err != nil {
		return err
	}
	if err := v.next(ctx, to, 1); err != nil {
		return err
	}
	for !from.Over || !to.Over {
		if err := v.step(ctx, from, to); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) next(ctx context.Context, w *tally.Walk, side int) error {
	err := w.Next(ctx)
	if err == nil && !w.Over {
		v.sums[side].Add(w)
	}
	return err
}

// step judges the smaller one of the current cells, and goes on.
func (v *visit) step(ctx context.Context, from, to *tally.Walk) error {
	order := from.Compare(to)
	switch {
	case order < 0:
		if err := v.different(InFrom, from); err != nil {
			return err
		}
	case order > 0:
		if err := v.different(InTo, to); err != nil {
			return err
		}
	case !bytes.Equal(from.Value, to.Value):
		if err := v.different(InBoth, from); err != nil {
			return err
		}
	}
	if order <= 0 {
		if err := v.next(ctx, from, 0); err != nil {
			return err
		}
	}
	if order >= 0 {
		return v.next(ctx, to, 1)
	}
	return nil
}
