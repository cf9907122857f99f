package gc

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/changes"
	"github.com/smolwc/smolwc/query/write"
)

// A tail is the part of a column that limits have dropped: its oldest versions.
type tail struct {
	row, qualifier string
	last           int64 // timestamp of the oldest version that the limits keep, -1 when they keep no version
	cells          int
	timestamps     []int64 // of its cells, newest first, unless there are many
}

// A tailFinder finds the tails in a scan of a family without retention.
type tailFinder struct {
	rules   []cf.Retention
	expiry  int64 // cells before it are expired whatever their rank
	expired bool  // expired cells are part of the tails, not only counted
	found   *Found
	most    int // a tail with more cells is kept without timestamps
	take    func(*tail) error

	row, qualifier string // of the current column, in a block's memory
	open           bool   // there is a current column
	rank           int
	last           int64
	tail           *tail // of the current column, nil before it begins
}

func (f *tailFinder) block(b *cf.Block) error {
	for i := range b.Rows {
		r := &b.Rows[i]
		row := b.RowKey(r)
		if i > 0 || !b.Continued {
			if err := f.end(); err != nil {
				return err
			}
		}
		rowCells := b.RowCells(r)
		for j := range rowCells {
			c := &rowCells[j]
			if q := b.Qualifier(c); !f.open || q != f.qualifier {
				if err := f.end(); err != nil {
					return err
				}
				f.open, f.row, f.qualifier, f.rank, f.last = true, row, q, 0, -1
			}
			f.cell(c.Timestamp, len(row)+len(f.qualifier)+timestampSize+len(b.Value(c)))
		}
	}
	return nil
}

const timestampSize = 8

// end hands over the tail of the current column, which is complete.
func (f *tailFinder) end() error {
	t := f.tail
	f.open, f.tail = false, nil
	if t == nil || t.cells == 0 {
		return nil
	}
	return f.take(t)
}

func (f *tailFinder) cell(ts int64, size int) {
	f.found.Scanned++
	f.rank++
	if f.tail == nil {
		if !f.drops(ts) {
			f.last = ts
			return
		}
		f.tail = &tail{row: strings.Clone(f.row), qualifier: strings.Clone(f.qualifier), last: f.last}
	}
	if ts < f.expiry {
		f.found.Expired++
		f.found.ExpiredBytes += int64(size)
		if !f.expired {
			return
		}
	} else {
		f.found.Surplus++
		f.found.SurplusBytes += int64(size)
	}
	f.tail.cells++
	if f.tail.cells > f.most {
		f.tail.timestamps = nil
		return
	}
	f.tail.timestamps = append(f.tail.timestamps, ts)
}

func (f *tailFinder) drops(ts int64) bool {
	for i := range f.rules {
		if r := &f.rules[i]; f.rank > r.Versions && ts <= r.UpTo {
			return true
		}
	}
	return false
}

// delete adds the deletion of the tail to a batch, as far as it lies after the
// column's last version to be kept; -1 keeps no version.
func (t *tail) delete(b *cf.Batch, f *catalog.Family, stream *catalog.Stream, last int64) {
	store := f.Store
	if stream != nil && last != 0 {
		changes.AppendRow(b, changes.NoteCollected, stream.ID, t.row)
		changes.AppendDelete(b, nil, &write.Change{Kind: write.DeleteVersionsChange, Family: f.Name, Qualifier: t.qualifier, Until: cells.Timestamp(max(last, 0))})
	}
	switch {
	case last == 0: // nothing is older
	case t.timestamps == nil:
		b.DeleteVersions(store, t.qualifier, 0, max(last, 0))
	default:
		for _, ts := range t.timestamps {
			if last < 0 || ts < last {
				b.DeleteCell(store, t.qualifier, ts)
			}
		}
	}
}
