package transfer

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A plan is a spec that was checked against the table.
type plan struct {
	format  format
	names   fieldNames
	key     template
	columns []column
	ts      int // the index of the timestamp field, or noField
	na      string
	adds    bool      // some column is an aggregate
	sets    bool      // some column is not an aggregate
	cells   *cellForm // reads the long form of an export; nil: key and columns are given
	keyText []byte    // scratch
}

// A column is a mapping with a definite type.
type column struct {
	family, qualifier string
	typ               cells.Type
	field             int
	code              code // if the spec names the field with a suffix
}

// newPlan checks a spec against the declared table.
func newPlan(spec Spec, table schema.Table) (*plan, error) {
	p := &plan{ts: noField, na: spec.NA}
	var err error
	if p.format, err = formatOf(spec.Path); err != nil {
		return nil, err
	}
	if spec.Key == "" && len(spec.Columns) == 0 {
		return newCellPlan(spec, table, p.format)
	}
	p.names.coded = !p.format.parquet
	if p.key, err = parseTemplate(spec.Key, &p.names); err != nil {
		return nil, err
	}
	if len(spec.Columns) == 0 {
		return nil, specErrorf("columns", "no field becomes a column; write family:qualifier=field, or several of them with commas between")
	}
	for _, m := range spec.Columns {
		if err := p.addColumn(m, table); err != nil {
			return nil, err
		}
	}
	if spec.Timestamp != "" {
		p.ts = p.names.add(spec.Timestamp, "ts", "")
	}
	if spec.BadLines < 0 {
		return nil, specErrorf("bad-lines", "%d is negative", spec.BadLines)
	}
	if spec.Batch < 0 {
		return nil, specErrorf("batch", "%d is negative", spec.Batch)
	}
	return p, nil
}

func (p *plan) addColumn(m Mapping, table schema.Table) error {
	name := m.Family + ":" + m.Qualifier
	family, ok := table.Family(m.Family)
	if !ok {
		var known []string
		for _, f := range table.Families {
			known = append(known, f.Name)
		}
		return specErrorf("columns", "table %s has no family %s%s", table.Name, quote(m.Family), schema.DidYouMean(m.Family, known))
	}
	if len(m.Qualifier) > cells.MaxQualifier {
		return specErrorf("columns", "a qualifier of family %s has %d bytes, at most %d are possible", m.Family, len(m.Qualifier), cells.MaxQualifier)
	}
	if m.Field == "" {
		return specErrorf("columns", "%s: no field is named; write %s=field", name, name)
	}
	if slices.ContainsFunc(p.columns, func(c column) bool { return c.family == m.Family && c.qualifier == m.Qualifier }) {
		return specErrorf("columns", "%s is filled from two fields", name)
	}
	typ := m.Type
	declared := family.Type
	switch family.Aggregate {
	case schema.NoAggregate:
		p.sets = true
	case schema.AggregateHLL:
		p.adds = true
	default:
		p.adds, declared = true, cells.TypeI64
	}
	switch {
	case typ == cells.TypeAny && declared == cells.TypeAny:
		typ = cells.TypeString
	case typ == cells.TypeAny:
		typ = declared
	case declared != cells.TypeAny && typ != declared:
		return specErrorf("columns", "%s is to be %s, but family %s of table %s is declared %s", name, typ, m.Family, table.Name, declared)
	}
	c := column{family: m.Family, qualifier: m.Qualifier, typ: typ}
	if typ == cells.TypeBytes && p.names.coded {
		c.code = codeOf(m.Field)
	}
	var also string
	if m.Field == m.Qualifier { // export names the field by column
		also = name
	}
	c.field = p.names.add(m.Field, "columns", also)
	p.columns = append(p.columns, c)
	return nil
}

// once reports whether each pair of row key and timestamp may occur only once, because
// a second record would replace the first. It is false for the long form, where each
// record is a cell, and if all columns aggregate.
func (p *plan) once() bool { return p.cells == nil && p.sets }

// A row is a record for the table. All its cells have one timestamp. In the long form a
// row may have several records, and its cells several timestamps.
type row struct {
	line  int
	lines int // of the record
	key   string
	cells []cells.Cell
}

// size returns about how many bytes the row takes.
func (r row) size() int {
	n := len(r.key)
	for _, c := range r.cells {
		n += len(c.Qualifier) + c.Value.EncodedLen()
	}
	return n
}

// records returns the number of records of the row.
func (p *plan) records(r row) int64 {
	if p.cells != nil {
		return int64(len(r.cells))
	}
	return 1
}

// serverTime stands for a timestamp from the database's clock.
const serverTime cells.Timestamp = -1

// row makes a row from a record. It appends the cells to arena and returns arena.
func (p *plan) row(rec *record, arena []cells.Cell) (row, []cells.Cell, *LineError) {
	if p.cells != nil {
		return p.cells.row(rec, arena)
	}
	var bad *LineError
	if p.keyText, bad = p.key.append(p.keyText[:0], rec); bad != nil {
		return row{}, arena, bad
	}
	if n := len(p.keyText); n == 0 || n > cells.MaxRowKey {
		return row{}, arena, rec.wrong("makes a row key of %d bytes; a row key has 1 to %d", n, cells.MaxRowKey)
	}
	ts := serverTime
	if p.ts != noField {
		if ts, bad = p.timestamp(rec); bad != nil {
			return row{}, arena, bad
		}
	}
	start := len(arena)
	for _, c := range p.columns {
		f := rec.fields[c.field]
		switch {
		case f.state == nested:
			return row{}, arena[:start], rec.fault(c.field, "is an object or a list here; %s:%s takes %s", c.family, c.qualifier, c.typ)
		case p.empty(f):
			continue
		}
		text, bad := rec.decoded(c.field)
		if bad != nil {
			return row{}, arena[:start], bad
		}
		text, problem := c.code.decode(text)
		if problem != "" {
			return row{}, arena[:start], rec.fault(c.field, "%s", problem)
		}
		v, problem := convert(text, c.typ)
		if problem != "" {
			return row{}, arena[:start], rec.fault(c.field, "%s (for %s:%s)", problem, c.family, c.qualifier)
		}
		arena = append(arena, cells.Cell{Family: c.family, Qualifier: c.qualifier, Timestamp: ts, Value: v})
	}
	return row{line: rec.line, lines: max(rec.lines, 1), key: string(p.keyText), cells: arena[start:len(arena):len(arena)]}, arena, nil
}

// empty reports whether a field makes no cell.
func (p *plan) empty(f field) bool {
	return f.state == absent || f.text == "" && f.state != typed || p.na != "" && f.text == p.na
}

func (p *plan) timestamp(rec *record) (cells.Timestamp, *LineError) {
	f := rec.fields[p.ts]
	if f.state == nested || p.empty(f) {
		return 0, rec.fault(p.ts, "has no timestamp here")
	}
	text, bad := rec.decoded(p.ts)
	if bad != nil {
		return 0, bad
	}
	ts, problem := parseTimestamp(text)
	if problem != "" {
		return 0, rec.fault(p.ts, "%s", problem)
	}
	return ts, nil
}
