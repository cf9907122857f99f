package views

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/fields"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/run"
)

// The families of the table with the state of a view. Each cell is at timestamp 0.
const (
	metaFamily   = "m" // row "view": how far the first reading of the table is
	rowsFamily   = "r" // by the keys of the table's rows: their contributions
	groupsFamily = "g" // by the keys of the view's rows: the states of groups
	groupFamily  = "c" // by hashes of these keys, and keys of rows: contributions to groups
	dueFamily    = "d" // by times, and keys of rows: when rows have to be computed again
)

// place is where a table of state keeps the part of a row of the source: a row key
// takes 4096 bytes at most, so the rest of a long key is a qualifier. Places sort like the
// keys.
func place(prefix, key string) (row, qualifier string) {
	cut := min(len(key), cells.MaxRowKey-16)
	return prefix + key[:cut], key[cut:]
}

func groupPrefix(viewKey string) string {
	sum := sha256.Sum256([]byte(viewKey))
	return string(sum[:16])
}

func duePrefix(at cells.Timestamp) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(at)))
}

// A live view is a view whose rows are kept.
type live struct {
	def      *Materialized
	query    *run.View
	families map[string][]time.Duration // the ages at which cells of a family may be dropped
	ready    bool                       // the whole table was read
	fault    error                      // why the view is empty
	dueFrom  cells.Timestamp            // nothing is due before
}

// due is the first time at which retention may drop a cell of a row that was read.
func (l *live) due(row *query.Row) (first cells.Timestamp) {
	if len(l.families) == 0 {
		return 0
	}
	for c := range row.Cells() {
		for _, age := range l.families[c.Family] {
			at := c.Timestamp + cells.Timestamp(age.Microseconds()) + 1
			if at > c.Timestamp && (first == 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

// A source is a row's contribution to a view, and the time from which
// retention may have changed that, 0 if it cannot.
type source struct {
	due  cells.Timestamp
	adds []run.Contribution
}

func (s *source) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.due))
	for _, c := range s.adds {
		dst = append(binary.AppendUvarint(dst, uint64(len(c.Key))), c.Key...)
		dst = append(binary.AppendUvarint(dst, uint64(len(c.Record))), c.Record...)
	}
	return dst
}

var errState = errors.New("the state of the materialized view is damaged; delete the view and create it again")

func readSource(b []byte) (s source, err error) {
	r := fields.Reader{Rest: b}
	s.due = cells.Timestamp(r.Uvarint())
	for len(r.Rest) > 0 {
		s.adds = append(s.adds, run.Contribution{Key: string(r.Text()), Record: bytes.Clone(r.Text())})
	}
	if r.Bad {
		return s, errState
	}
	return s, nil
}

// A change is one transaction's change of a view.
type change struct {
	tx    *query.Tx
	of    *live
	table string            // with the source rows
	now   map[string]source // contributions of the table's rows now
	lost  int               // rows that the query fails for
}

func (c *change) state() string { return stateOf(c.of.def.stored) }
func (c *change) rows() string  { return rowsOf(c.of.def.stored) }

func (c *change) put(ctx context.Context, row, family, qualifier string, v []byte) error {
	m := write.NewMutation()
	m.SetAt(family, qualifier, 0, cells.Bytes(v))
	return c.tx.Apply(ctx, c.state(), row, m)
}

func (c *change) remove(ctx context.Context, row, family, qualifier string) error {
	m := write.NewMutation()
	m.DeleteCell(family, qualifier, 0)
	return c.tx.Apply(ctx, c.state(), row, m)
}

// read computes the contributions of the table's rows. It returns the key of the last row, and
// whether it read all: it stops between rows once most passed.
func (c *change) read(ctx context.Context, most time.Duration, opts ...read.Option) (last string, all bool, err error) {
	began := time.Now()
	for row, err := range c.tx.ReadRows(ctx, c.table, append(opts, c.of.query.Reads()...)...) {
		if err != nil {
			return "", false, err
		}
		if last != "" && time.Since(began) >= most {
			return last, false, nil
		}
		last = row.Key()
		adds, err := c.of.query.Contributions(ctx, row)
		if err != nil {
			if _, ok := errors.AsType[*sql.Error](err); !ok {
				return "", false, err
			}
			c.lost++
		}
		c.now[last] = source{c.of.due(row), adds}
	}
	return last, true, nil
}

// replace makes the contributions of rows of the table those that were read; a row that was
// not found contributes nothing.
func (c *change) replace(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	before := map[string]source{}
	for row, err := range c.tx.ReadRows(ctx, c.state(), read.Key(keys...), read.Family(rowsFamily)) {
		if err != nil {
			return err
		}
		b, _ := row.Bytes(rowsFamily, "")
		s, err := readSource(b)
		if err != nil {
			return err
		}
		before[row.Key()] = s
	}
	groups := map[string][]part{}
	for _, key := range keys {
		if err := c.replaceRow(ctx, key, before[key], c.now[key], groups); err != nil {
			return err
		}
	}
	return c.regroup(ctx, groups)
}

// A part is a contribution that a group gets or loses.
type part struct {
	record []byte
	add    bool
}

func (c *change) replaceRow(ctx context.Context, key string, old, next source, groups map[string][]part) error {
	if next.due != 0 {
		c.of.dueFrom = min(c.of.dueFrom, next.due) // the clock of reads may be behind
	}
	if slices.EqualFunc(old.adds, next.adds, func(a, b run.Contribution) bool { return a.Key == b.Key && bytes.Equal(a.Record, b.Record) }) && old.due == next.due {
		return nil
	}
	if err := c.remember(ctx, key, old, next); err != nil {
		return err
	}
	was, is := byKey(old.adds), byKey(next.adds)
	for viewKey, records := range was {
		if err := c.contribute(ctx, key, viewKey, records, is[viewKey], groups); err != nil {
			return err
		}
	}
	for viewKey, records := range is {
		if was[viewKey] == nil {
			if err := c.contribute(ctx, key, viewKey, nil, records, groups); err != nil {
				return err
			}
		}
	}
	return nil
}

func byKey(adds []run.Contribution) map[string][][]byte {
	all := map[string][][]byte{}
	for _, a := range adds {
		all[a.Key] = append(all[a.Key], a.Record)
	}
	return all
}

// remember keeps the contributions of a row, and when it must be computed again.
func (c *change) remember(ctx context.Context, key string, old, next source) (err error) {
	if old.due != next.due && old.due != 0 {
		row, qualifier := place(duePrefix(old.due), key)
		if err := c.remove(ctx, row, dueFamily, qualifier); err != nil {
			return err
		}
	}
	if next.due != 0 {
		row, qualifier := place(duePrefix(next.due), key)
		if err := c.put(ctx, row, dueFamily, qualifier, nil); err != nil {
			return err
		}
	}
	if next.due == 0 && len(next.adds) == 0 {
		return c.remove(ctx, key, rowsFamily, "")
	}
	return c.put(ctx, key, rowsFamily, "", next.append(nil))
}

// contribute replaces a row's contribution to a row of the view.
func (c *change) contribute(ctx context.Context, key, viewKey string, old, next [][]byte, groups map[string][]part) error {
	if slices.EqualFunc(old, next, bytes.Equal) {
		return nil
	}
	if !c.of.query.Grouped() {
		if len(next) == 0 {
			return c.show(ctx, viewKey, nil)
		}
		row, err := c.of.query.Row(next[len(next)-1])
		if err != nil {
			return err
		}
		return c.show(ctx, viewKey, row)
	}
	for _, r := range old {
		groups[viewKey] = append(groups[viewKey], part{r, false})
	}
	for _, r := range next {
		groups[viewKey] = append(groups[viewKey], part{r, true})
	}
	if !c.of.query.Anew() {
		return nil
	}
	row, qualifier := place(groupPrefix(viewKey), key)
	if len(next) == 0 {
		return c.remove(ctx, row, groupFamily, qualifier)
	}
	var all []byte
	for _, r := range next {
		all = append(binary.AppendUvarint(all, uint64(len(r))), r...)
	}
	return c.put(ctx, row, groupFamily, qualifier, all)
}

// regroup brings groups up to date.
func (c *change) regroup(ctx context.Context, groups map[string][]part) error {
	if len(groups) == 0 {
		return nil
	}
	keys := make([]string, 0, len(groups))
	for key := range groups {
		keys = append(keys, key)
	}
	states := map[string][]byte{}
	for row, err := range c.tx.ReadRows(ctx, c.state(), read.Key(keys...), read.Family(groupsFamily)) {
		if err != nil {
			return err
		}
		states[row.Key()], _ = row.Bytes(groupsFamily, "")
	}
	for key, parts := range groups {
		if err := c.changeGroup(ctx, key, states[key], parts); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) changeGroup(ctx context.Context, key string, state []byte, parts []part) error {
	g, err := c.of.query.Group(state)
	if err != nil {
		return err
	}
	whole := true
	for _, p := range parts {
		ok, err := g.Change(p.record, p.add)
		if err != nil {
			return err
		}
		whole = whole && ok
	}
	if !whole {
		if g, err = c.of.query.Compute(ctx, c.contributions(ctx, key)); err != nil {
			return err
		}
	}
	if record := g.Record(); record == nil {
		err = c.remove(ctx, key, groupsFamily, "")
	} else {
		err = c.put(ctx, key, groupsFamily, "", record)
	}
	if err != nil {
		return err
	}
	row, err := g.Row()
	if _, ok := errors.AsType[*sql.Error](err); ok {
		row, err = nil, nil // such as a sum that overflows: the query fails, and the group gets no row
		c.lost++
	}
	if err != nil {
		return err
	}
	return c.show(ctx, key, row)
}

// contributions are the records of a group, in the order of the table's rows.
func (c *change) contributions(ctx context.Context, viewKey string) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for row, err := range c.tx.ReadRows(ctx, c.state(), read.Prefix(groupPrefix(viewKey)), read.Family(groupFamily)) {
			if err != nil {
				yield(nil, err)
				return
			}
			for cell := range row.Cells() {
				b, _ := cell.Value.AsBytes()
				for r := (fields.Reader{Rest: b}); len(r.Rest) > 0; {
					record := r.Text()
					if r.Bad {
						yield(nil, errState)
						return
					}
					if !yield(record, nil) {
						return
					}
				}
			}
		}
	}
}

// show writes a row of the view; nil removes it.
func (c *change) show(ctx context.Context, key string, row *run.ViewRow) error {
	m := write.NewMutation()
	has := map[[2]string]bool{}
	if row != nil {
		m.SetAt(run.RecordFamily, "", 0, cells.Bytes(row.Record))
		for _, cell := range row.Cells {
			has[[2]string{cell.Family, cell.Qualifier}] = true
			m.SetAt(cell.Family, cell.Qualifier, 0, cells.Bytes(cell.Value))
		}
	} else {
		m.DeleteCell(run.RecordFamily, "", 0)
	}
	for _, cell := range c.of.query.Columns() {
		if !has[cell] {
			m.DeleteCell(cell[0], cell[1], 0)
		}
	}
	return c.tx.Apply(ctx, c.rows(), key, m)
}
