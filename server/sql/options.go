package sql

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
)

// options are those of the table: which versions of cells the query sees.
func (p *Plan) options(options []option) error {
	var w window
	given := map[string]bool{}
	for _, o := range options {
		if given[o.name] {
			return p.errorf(o.pos, "option %s is given twice", o.name)
		}
		given[o.name] = true
		v, err := p.option(o)
		if err != nil {
			return err
		}
		if o.name == "with_history" {
			p.history = v.(bool)
		} else if v != nil {
			w.narrow(o.name, v)
		}
	}
	for _, o := range options {
		if o.name != "with_history" && o.name != "as_of" && !p.history {
			return p.errorf(o.pos, "%s wants with_history => TRUE", o.name)
		}
	}
	if !p.history {
		w.versions = 1
	}
	p.read(w)
	return nil
}

// option is the value of an option, nil while the parameters have no values.
func (p *Plan) option(o option) (any, error) {
	want := typeTimestamp
	switch o.name {
	case "with_history":
		want = typeBool
	case "latest_n":
		want = typeInt64
	case "as_of", "before", "before_or_equal", "after", "after_or_equal":
	default:
		return nil, p.errorf(o.pos, "unknown option %s; there are with_history, latest_n, as_of, before, before_or_equal, after, after_or_equal", o.name)
	}
	e, err := p.typed(o.value, want, o.name)
	switch {
	case err != nil:
		return nil, err
	case !e.fixed:
		return nil, p.errorf(o.value.pos, "%s must be the same for every row", o.name)
	case !p.params.bound() && want != typeBool:
		return nil, nil
	}
	v, err := e.eval(nil)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, p.errorf(o.value.pos, "%s must not be NULL", o.name)
	case want == typeBool && o.value.op != opBool:
		return nil, p.errorf(o.value.pos, "with_history must be TRUE or FALSE")
	case want == typeInt64 && v.(int64) <= 0:
		return nil, p.errorf(o.value.pos, "latest_n is %d; it must be greater than 0", v)
	}
	return v, nil
}

// A window is the cells that a query sees: those since a time and before another,
// where 0 is no bound, and the newest few of each column, where 0 is all.
type window struct {
	since, until cells.Timestamp
	versions     int
}

// narrow applies an option to the window. A TIMESTAMP ends with the year 9999, so
// a next timestamp always exists.
func (w *window) narrow(option string, v any) {
	before := func(ts cells.Timestamp) {
		if w.until == 0 || ts < w.until {
			w.until = max(ts, 1)
		}
	}
	switch option {
	case "latest_n":
		w.versions = int(v.(int64))
	case "as_of", "before_or_equal":
		before(v.(cells.Timestamp) + 1)
	case "before":
		before(v.(cells.Timestamp))
	case "after":
		w.since = max(w.since, v.(cells.Timestamp)+1)
	case "after_or_equal":
		w.since = max(w.since, v.(cells.Timestamp))
	}
}

// read makes a read return only the cells of a window.
func (p *Plan) read(w window) {
	if w.versions > 0 {
		p.opts = append(p.opts, read.Versions(w.versions))
	}
	if w.until != 0 && w.until <= w.since {
		w.since = w.until // no cell is both
	}
	if w.since != 0 || w.until != 0 {
		p.opts = append(p.opts, read.TimeRange(w.since, w.until))
		p.cells = true
	}
}
