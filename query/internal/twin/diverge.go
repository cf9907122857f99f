package twin

import (
	"bytes"
	"context"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/tally"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A Side is a table in one of several databases: a snapshot, and the table as its catalog
// has it; a nil table is a database without it.
type Side struct {
	Snapshot cf.Snapshot
	Table    *catalog.Table
}

// A Column is a column whose cells are not the same on all sides.
type Column struct {
	Row, Family, Qualifier string
	// Newest are the values of the newest cells, by side; nil where the column is empty.
	Newest [][]byte
	// Versions are the cells that differ, the newest first.
	Versions []Version
}

// A Version is the cells of a column at one timestamp: their stored values by side, nil
// where there is no such cell.
type Version struct {
	Timestamp cells.Timestamp
	Values    [][]byte
}

// MostDiverged bounds the bytes of the values that differ in one column, which are in memory
// together. Only tests change it.
var MostDiverged = 64 << 20

// Diverge calls different for each column of the rows in ranges that is not the same on all
// sides, in the order of rows, families and qualifiers. It leaves out the cells that the rule
// of any side drops sooner or later, at one moment for all. A family that a side lacks is
// empty there.
func Diverge(ctx context.Context, sides []Side, rows []cf.Range, now cells.Timestamp, different func(*Column) error) error {
	var all []*diverging
	defer func() {
		for _, d := range all {
			d.close()
		}
	}()
	for _, name := range familiesOf(sides) {
		d := &diverging{name: name}
		all = append(all, d)
		if err := d.start(ctx, sides, rows, now); err != nil {
			return err
		}
	}
	for {
		row, some := "", false
		for _, d := range all {
			for _, w := range d.walks {
				if !w.Over && (!some || w.Key < row) {
					row, some = w.Key, true
				}
			}
		}
		if !some {
			return nil
		}
		for _, d := range all {
			if err := d.row(ctx, row, different); err != nil {
				return err
			}
		}
	}
}

// familiesOf are the names of the families of all sides, sorted.
func familiesOf(sides []Side) (names []string) {
	for _, s := range sides {
		if s.Table == nil {
			continue
		}
		for _, f := range s.Table.Families {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A diverging is one family on all sides.
type diverging struct {
	name   string
	walks  []*tally.Walk // by side; one that is over where there is no such family
	opened []*tally.Walk
}

func (d *diverging) start(ctx context.Context, sides []Side, rows []cf.Range, now cells.Timestamp) error {
	families := make([]*catalog.Family, len(sides))
	var filter cf.Filter
	for i, s := range sides {
		if s.Table == nil {
			continue
		}
		f, err := s.Table.Family(d.name)
		if err != nil {
			continue
		}
		families[i] = f
		for _, r := range rule(f, now).Retention {
			if !slices.Contains(filter.Retention, r) {
				filter.Retention = append(filter.Retention, r)
			}
		}
	}
	for i, f := range families {
		w := &tally.Walk{Over: true}
		if f != nil {
			var err error
			if w, err = tally.Start(ctx, sides[i].Snapshot, cf.Scan{Family: f.Store, Rows: rows, Filter: filter}); err != nil {
				return err
			}
			d.opened = append(d.opened, w)
			if err := w.Next(ctx); err != nil {
				return err
			}
		}
		d.walks = append(d.walks, w)
	}
	return nil
}

func (d *diverging) close() {
	for _, w := range d.opened {
		w.Close()
	}
}

// row goes through the columns of a row.
func (d *diverging) row(ctx context.Context, row string, different func(*Column) error) error {
	for {
		qualifier, some := "", false
		for _, w := range d.walks {
			if !w.Over && w.Key == row && (!some || w.Qualifier < qualifier) {
				qualifier, some = w.Qualifier, true
			}
		}
		if !some {
			return nil
		}
		c := Column{Row: row, Family: d.name, Qualifier: qualifier}
		if err := d.column(ctx, &c); err != nil {
			return err
		}
		if len(c.Versions) == 0 {
			continue
		}
		for i, v := range c.Newest {
			c.Newest[i] = bytes.Clone(v)
		}
		if err := different(&c); err != nil {
			return err
		}
	}
}

// column gathers the cells of a column that differ.
func (d *diverging) column(ctx context.Context, c *Column) error {
	size := 0
	c.Newest = make([][]byte, len(d.walks))
	at := func(w *tally.Walk) bool { return !w.Over && w.Key == c.Row && w.Qualifier == c.Qualifier }
	for {
		newest, some := int64(0), false
		for _, w := range d.walks {
			if at(w) && (!some || w.Timestamp > newest) {
				newest, some = w.Timestamp, true
			}
		}
		if !some {
			return nil
		}
		v := Version{Timestamp: cells.Timestamp(newest), Values: make([][]byte, len(d.walks))}
		for i, w := range d.walks {
			if !at(w) || w.Timestamp != newest {
				continue
			}
			v.Values[i] = w.Value
			if c.Newest[i] == nil {
				c.Newest[i] = w.Value
			}
			if err := w.Next(ctx); err != nil {
				return err
			}
		}
		if same(v.Values) {
			continue
		}
		for i := range v.Values { // they would keep whole blocks
			v.Values[i] = bytes.Clone(v.Values[i])
			size += len(v.Values[i])
		}
		if size += 64; size > MostDiverged {
			return fault.Errorf(fault.ResourceExhausted, "row %.80q, column %s:%.80q: the cells that differ have more than %d bytes, the limit of one column", c.Row, c.Family, c.Qualifier, MostDiverged)
		}
		c.Versions = append(c.Versions, v)
	}
}

func same(values [][]byte) bool {
	for _, v := range values[1:] {
		if !bytes.Equal(v, values[0]) { // no stored value is empty
			return false
		}
	}
	return true
}
