package query

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// A Plan says how a read would be carried out: the request to the store, and the
// work left on the rows that it yields.
type Plan struct {
	// Rows are the ranges of row keys that are read, as "key", "prefix"… or
	// [start, end). An empty list means that no row is read.
	Rows []string
	// Scans are the families that are read.
	Scans []ScanPlan
	// Pushed are the filters that the store evaluates, each with the form that
	// the store gets.
	Pushed []string
	// Where are the conditions that the store judges, or the ranges of rows satisfy, and
	// Judged those that are judged on each row that the store yields.
	Where, Judged []string
	// Residual is the filter that is evaluated on each row; "" when the store
	// evaluates everything.
	Residual string
}

// A ScanPlan is one family of a [Plan].
type ScanPlan struct {
	Family string
	// Columns are the qualifiers that are read, written as in Plan.Rows; an empty
	// list means all.
	Columns []string
	// Since, inclusive, and Until, exclusive, are the time range; an Until
	// of 0 is no bound.
	Since, Until cells.Timestamp
	// Versions and CellsPerRow are limits; 0 is no limit.
	Versions, CellsPerRow int
	// KeysOnly says that no cells are fetched.
	KeysOnly bool
	// Condition says that the scan is for conditions on rows, and that its
	// cells are not returned.
	Condition bool
}

// Explain is the plan of [Table.ReadRows] with the same options. It reads
// nothing, and it fails where the read would fail for wrong options.
func (t *Table) Explain(opts ...read.Option) (Plan, error) {
	plan, err := t.explain(opts)
	return plan, fail("explain", t.Name(), "", err)
}

func (t *Table) explain(opts []read.Option) (made Plan, err error) {
	src, planned, done, err := t.planRows(context.Background(), opts)
	if err != nil {
		return made, err
	}
	defer done()
	spec, p := planned.Spec, planned.Plan
	for _, r := range spec.Ranges {
		made.Rows = append(made.Rows, rangeText(r))
	}
	for i := range p.Scans {
		made.Scans = append(made.Scans, scanPlan(&p.Scans[i]))
	}
	for i := range p.Guards {
		made.Judged = append(made.Judged, p.Guards[i].String())
	}
	conditions, err := plan.Conjuncts(src.Table, spec.Where)
	if err != nil {
		return made, err
	}
	for _, c := range conditions {
		if text := c.String(); !slices.Contains(made.Judged, text) {
			made.Where = append(made.Where, text)
		}
	}
	for _, f := range spec.Pushed {
		made.Pushed = append(made.Pushed, f.String())
	}
	if spec.Filter != nil {
		made.Residual = spec.Filter.String()
	}
	return made, nil
}

func scanPlan(s *plan.FamilyScan) ScanPlan {
	f := &s.Scan.Filter
	p := ScanPlan{
		Family: s.Family, Since: cells.Timestamp(f.Since), Until: cells.Timestamp(f.Until),
		Versions: f.Versions, CellsPerRow: f.CellsPerRow, KeysOnly: f.KeysOnly, Condition: s.Guard,
	}
	for _, q := range f.Qualifiers {
		p.Columns = append(p.Columns, rangeText(q))
	}
	return p
}

// rangeText is a range of bytes in its shortest form.
func rangeText(r cf.Range) string {
	one, single := r.Single()
	switch {
	case r == cf.Range{}:
		return "all"
	case r.End == "":
		return "[" + strconv.Quote(r.Start) + ", ∞)"
	case single:
		return strconv.Quote(one)
	case r == cf.Prefix(r.Start):
		return strconv.Quote(r.Start) + "…"
	}
	return "[" + strconv.Quote(r.Start) + ", " + strconv.Quote(r.End) + ")"
}

// String is the plan as text, a line for each thing.
func (p Plan) String() string {
	var b strings.Builder
	line := func(name string, texts ...string) {
		if len(texts) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(texts, "; "))
		}
	}
	line("rows", few(p.Rows)...)
	for _, s := range p.Scans {
		line("scan", s.String())
	}
	for _, f := range p.Pushed {
		line("pushed", f)
	}
	line("where", p.Where...)
	line("judged", p.Judged...)
	if p.Residual != "" {
		line("filter", p.Residual)
	}
	return b.String()
}

// few shortens a list of thousands of keys.
func few(texts []string) []string {
	const most = 8
	switch {
	case len(texts) == 0:
		return []string{"none"}
	case len(texts) <= most:
		return texts
	}
	return append(slices.Clone(texts[:most]), fmt.Sprintf("%d more", len(texts)-most))
}

// String is the scan in one line.
func (s ScanPlan) String() string {
	text := s.Family
	if len(s.Columns) > 0 {
		text += ":" + strings.Join(few(s.Columns), ", ")
	}
	if s.Since != 0 || s.Until != 0 {
		until := "∞"
		if s.Until != 0 {
			until = s.Until.String()
		}
		text += fmt.Sprintf(" time [%d, %s)", s.Since, until)
	}
	if s.Versions != 0 {
		text += fmt.Sprintf(" versions %d", s.Versions)
	}
	if s.CellsPerRow != 0 {
		text += fmt.Sprintf(" cells per row %d", s.CellsPerRow)
	}
	if s.KeysOnly {
		text += " keys only"
	}
	if s.Condition {
		text += " (for conditions)"
	}
	return text
}
