package bind

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// compileOptions reads the options of the table: which versions of cells the query sees.
func compileOptions(p *planner, options []parse.Option) error {
	var w window
	given := map[string]bool{}
	for _, o := range options {
		if given[o.Name] {
			return p.Errorf(o.Pos, "option %s is given twice", o.Name)
		}
		given[o.Name] = true
		v, err := compileOption(p, o)
		if err != nil {
			return err
		}
		if o.Name == "with_history" {
			p.history = v.(bool)
		} else if v != nil {
			w.narrow(o.Name, v)
		}
	}
	for _, o := range options {
		if o.Name != "with_history" && o.Name != "as_of" && !p.history {
			return p.Errorf(o.Pos, "%s wants with_history => TRUE", o.Name)
		}
	}
	if !p.history {
		w.versions = 1
	}
	readWindow(p, w)
	return nil
}

// compileOption is the value of an option, nil while the parameters have no values.
func compileOption(p *planner, o parse.Option) (any, error) {
	want := value.TypeTimestamp
	switch o.Name {
	case "with_history":
		want = value.TypeBool
	case "latest_n":
		want = value.TypeInt64
	case "as_of", "before", "before_or_equal", "after", "after_or_equal":
	default:
		return nil, p.Errorf(o.Pos, "unknown option %s; there are with_history, latest_n, as_of, before, before_or_equal, after, after_or_equal", o.Name)
	}
	e, err := p.typed(o.Value, want, o.Name)
	switch {
	case err != nil:
		return nil, err
	case !e.fixed:
		return nil, p.Errorf(o.Value.Pos, "%s must be the same for every row", o.Name)
	case !p.params.bound() && want != value.TypeBool:
		return nil, nil
	}
	v, err := e.eval(nil)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, p.Errorf(o.Value.Pos, "%s must not be NULL", o.Name)
	case want == value.TypeBool && o.Value.Op != parse.OpBool:
		return nil, p.Errorf(o.Value.Pos, "with_history must be TRUE or FALSE")
	case want == value.TypeInt64 && v.(int64) <= 0:
		return nil, p.Errorf(o.Value.Pos, "latest_n is %d; it must be greater than 0", v)
	}
	return v, nil
}

// A window selects the cells that a query sees: cells with times from since, inclusive,
// to until, exclusive, where 0 is no bound, and the newest versions of each column,
// where 0 is all.
type window struct {
	since, until cells.Timestamp
	versions     int
}

// narrow applies an option to the window. A TIMESTAMP ends with the year 9999, so
// a next timestamp always exists.
func (w *window) narrow(option string, v any) {
	before := func(ts cells.Timestamp) {
		if ts <= 0 { // before all cells
			w.since = max(w.since, 1)
		}
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

func readWindow(p *planner, w window) {
	if w.versions > 0 {
		p.plan.Options = append(p.plan.Options, read.Versions(w.versions))
	}
	if w.until != 0 && w.until <= w.since {
		w.since = w.until // no cell is both
	}
	if w.since != 0 || w.until != 0 {
		p.plan.Options = append(p.plan.Options, read.TimeRange(w.since, w.until))
		p.plan.Cells, p.plan.Windowed = true, true
	}
}

// timestampColumn is the column that UNPACK adds.
const timestampColumn = "_timestamp"

// compileUnpack compiles UNPACK of a query: each row becomes a row for each timestamp in its
// histories, newest first. A history becomes its value at that timestamp, or NULL; a family
// becomes a map of its columns that have a value then; other columns are repeated.
func compileUnpack(p *planner, u *parse.Unpack) error {
	for i := range u.Unnests {
		if err := compileUnnest(p, &u.Unnests[i]); err != nil {
			return err
		}
	}
	for _, s := range u.Stages {
		if err := compileStage(p, s); err != nil {
			return err
		}
	}
	all, err := p.star(parse.Column{Pos: u.Pos})
	if err != nil {
		return err
	}
	histories := 0
	to := scope{alias: u.Alias, slots: len(all) + 1}
	for i, o := range all {
		t := o.expr.typ
		if of, ok := run.ValueAt(t); ok {
			t = of
			histories++
		}
		to.named(slotName{name: o.name, typ: t, slot: i})
	}
	if histories == 0 {
		return p.Errorf(u.Pos, "UNPACK takes a query with the histories of columns or families: FROM table(with_history => TRUE)")
	}
	to.named(slotName{name: timestampColumn, typ: value.Type{Kind: value.TypeTimestamp}, slot: len(all)})
	p.scope = to
	p.plan.Steps = append(p.plan.Steps, run.Unpack(outputsOf(all)))

	return nil
}
