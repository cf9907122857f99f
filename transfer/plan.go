package transfer

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A plan is a spec that was checked against the table.
type plan struct {
	format  format
	names   fieldNames
	key     template
	columns []column
	ts      int      // the index of the timestamp field, or noField
	tsPath  *path    // of that field; nil: it is a name
	tsOf    template // makes the timestamp; nil: it is a field, or the clock gives it
	spreads bool     // a record may make any number of cells
	fixed   bool     // the name of some column is the same in all records
	na      string
	now     cells.Timestamp // of cells without a time; 0: the time at which their row is written
	blank   bool            // empty text makes a cell
	adds    map[string]bool // the families of columns that are aggregates
	sets    bool            // some column is not an aggregate
	cells   *cellForm       // reads the long form of an export; nil: key and columns are given
	keyText []byte          // scratch
	arena   []cells.Cell    // cells of rows, which are not written again
}

// newPlan checks a spec against the declared table.
func newPlan(spec Spec, table schema.Table) (*plan, error) {
	p := &plan{ts: noField, na: spec.NA, blank: spec.KeepEmpty, adds: map[string]bool{}}
	var err error
	if p.format, err = spec.format(); err != nil {
		return nil, err
	}
	if spec.Key == "" && len(spec.Columns) == 0 {
		return newCellPlan(spec, table, p.format)
	}
	p.names.coded = !p.format.parquet
	if p.key, err = parseTemplate(spec.Key, "key", &p.names); err != nil {
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
	if len(p.key) == 1 && (p.fixed || spec.Key == "") {
		return nil, specErrorf("key", "%s names no field, so all lines would make one row; write a field as {name}", quote(spec.Key))
	}
	switch {
	case strings.ContainsAny(spec.Timestamp, "{}"):
		if p.tsOf, err = parseTemplate(spec.Timestamp, "ts", &p.names); err != nil {
			return nil, err
		}
	case spec.Timestamp != "":
		p.ts = p.names.add(spec.Timestamp, "ts", "")
	}
	if err := p.findPaths(); err != nil {
		return nil, err
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
	if m.Template != "" {
		m.Qualifier = m.Template
	}
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
	if m.Field == "" || m.Template != "" && m.Field == m.Template {
		return specErrorf("columns", "%s: no field is named; write %s=field", name, name)
	}
	if m.All {
		name = m.Family + ":*"
	}
	if slices.ContainsFunc(p.columns, func(c column) bool { return c.family == m.Family && c.qualifier == m.Qualifier && !c.all && !m.All }) {
		return specErrorf("columns", "%s is filled from two fields", name)
	}
	typ := m.Type
	declared := family.Type
	switch family.Aggregate {
	case schema.NoAggregate:
		p.sets = true
	case schema.AggregateHLL:
		p.adds[m.Family] = true
	default:
		p.adds[m.Family], declared = true, cells.TypeI64
	}
	switch {
	case typ == cells.TypeAny && declared == cells.TypeAny && p.format.json && (m.All || family.Aggregate != schema.AggregateHLL): // each value by its form; 7 and "7" are one to count
	case typ == cells.TypeAny && declared == cells.TypeAny:
		typ = cells.TypeString
	case typ == cells.TypeAny:
		typ = declared
	case declared != cells.TypeAny && typ != declared:
		return specErrorf("columns", "%s is to be %s, but family %s of table %s is declared %s", name, typ, m.Family, table.Name, declared)
	}
	c := column{family: m.Family, qualifier: m.Qualifier, typ: typ, all: m.All}
	c.untyped = m.Type == cells.TypeAny && declared == cells.TypeAny && family.Aggregate == schema.NoAggregate && !m.All && m.Template == ""
	if m.Template != "" {
		var err error
		if c.named, err = parseTemplate(m.Template, "columns", &p.names); err != nil {
			return err
		}
		if len(c.named) == 1 { // it is without a field
			c.qualifier, c.named = c.named[0].literal, nil
		}
	}
	p.fixed = p.fixed || c.named == nil
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

// findPaths parses the fields that are paths into JSON.
func (p *plan) findPaths() error {
	paths := map[int]*path{}
	for i, name := range p.names.names {
		if !p.format.json || !isPath(name) {
			continue
		}
		var err error
		if paths[i], err = parsePath(name); err != nil {
			return specErrorf(p.names.parts[i], "%v", err)
		}
		if paths[i].list && p.names.parts[i] == "key" {
			return specErrorf("key", "%s: a row has one key; take one element, as in [0]", name)
		}
	}
	p.names.paths = paths
	if p.ts != noField {
		p.tsPath = paths[p.ts]
	}
	for _, part := range p.tsOf {
		if of := paths[part.field]; of != nil && of.list {
			return specErrorf("ts", "%s is a list; times made of several fields are one for each line", p.names.names[part.field])
		}
	}
	times := p.tsPath != nil && p.tsPath.list
	for i := range p.columns {
		c := &p.columns[i]
		c.path = paths[c.field]
		name := p.names.names[c.field]
		switch {
		case c.all && c.path == nil:
			return specErrorf("columns", "%s:*: the columns of a family are the members of an object, which a path names in JSON lines, as in %s:*='$.%s'", c.family, c.family, c.family)
		case c.all && c.path.list:
			return specErrorf("columns", "%s:*: %s is a list, and the columns of a family are the members of one object", c.family, name)
		case c.path != nil && c.path.list && !times && c.named == nil:
			return specErrorf("columns", "%s:%s: the elements of %s are versions, which need times of their own, as in ts='$.history[*].time', or names, as in %s:'{$.links[*].href}'", c.family, c.qualifier, name, c.family)
		}
		if err := p.checkTemplate(c); err != nil {
			return err
		}
		p.spreads = p.spreads || c.all || times || c.path != nil && c.path.list
	}
	return nil
}

// checkTemplate finds a template of qualifiers with the fields of another list than the
// values'.
func (p *plan) checkTemplate(c *column) error {
	for _, part := range c.named {
		of := p.names.paths[part.field]
		if of != nil && of.list && (c.path == nil || !c.path.list || !slices.Equal(of.steps, c.path.steps)) {
			return specErrorf("columns", "%s:%s: the names are in the elements of a list, and the values are not in the same elements", c.family, c.qualifier)
		}
	}
	return nil
}

// name is the qualifier of a column in a record.
func (p *plan) name(c *column, rec *record, of func(field int) field) (string, *LineError) {
	if c.named == nil {
		return c.qualifier, nil
	}
	name, bad := c.named.append(nil, rec, "qualifier", of)
	if bad == nil && len(name) > cells.MaxQualifier {
		bad = rec.wrong("makes a qualifier of %d bytes; a qualifier has at most %d", len(name), cells.MaxQualifier)
	}
	return string(name), bad
}

// once reports whether each pair of row key and timestamp may occur only once, because
// a second record would replace the first. It is false for the long form, where each
// record is a cell, if all columns aggregate, and if the records name all columns.
func (p *plan) once() bool { return p.cells == nil && p.sets && p.fixed }

func (p *plan) records(r row) int64 {
	if p.cells != nil && !p.cells.scanned {
		return int64(len(r.cells))
	}
	return 1 + int64(r.also)
}

// joined puts records of one row, which follow each other, into one, so that all cells get
// one time. Of a column that comes twice the last cell counts.
func (p *plan) joined(rows []row) []row {
	if p.once() || p.cells != nil || !p.sets {
		return rows
	}
	all := rows[:0]
	at := map[spreadCell]int{}
	for _, r := range rows {
		n := len(all) - 1
		if n < 0 || all[n].key != r.key {
			all = append(all, r)
			clear(at)
			continue
		}
		to := &all[n]
		if to.also++; to.also == 1 {
			to.cells = slices.Clone(to.cells)
			for i, c := range to.cells {
				at[spreadCell{c.Family, c.Qualifier, c.Timestamp}] = i
			}
		}
		for _, c := range r.cells {
			column := spreadCell{c.Family, c.Qualifier, c.Timestamp}
			if i, twice := at[column]; twice && !p.adds[c.Family] {
				to.cells[i] = c
				to.replaced++
				continue
			}
			at[column] = len(to.cells)
			to.cells = append(to.cells, c)
		}
	}
	return all
}

// untimed returns the index of the first row with a cell without a time, if cells of
// several batches need the same one and do not have it yet, else -1.
func (p *plan) untimed(rows []row) int {
	if p.once() || p.cells != nil || p.now > 0 {
		return -1
	}
	return slices.IndexFunc(rows, func(r row) bool { return p.untimedCell(r) >= 0 })
}

func (p *plan) untimedCell(r row) int {
	return slices.IndexFunc(r.cells, func(c cells.Cell) bool { return c.Timestamp == serverTime && !p.adds[c.Family] })
}

// fill adds a row's cells to a mutation. Values for an aggregate are added, at timestamp 0
// unless the file gives a timestamp.
func (p *plan) fill(m *write.Mutation, r row) {
	for _, c := range r.cells {
		switch {
		case p.adds[c.Family]:
			m.AddAt(c.Family, c.Qualifier, max(c.Timestamp, 0), c.Value)
		case c.Timestamp == serverTime && p.now > 0:
			m.SetAt(c.Family, c.Qualifier, p.now, c.Value)
		case c.Timestamp == serverTime:
			m.Set(c.Family, c.Qualifier, c.Value)
		default:
			m.SetAt(c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
	}
}

// empty reports whether a field is empty.
func (p *plan) empty(f field) bool {
	return f.state == absent || f.text == "" && f.state != typed || p.na != "" && f.text == p.na
}

// leavesOut reports whether a field makes no cell of the column.
func (p *plan) leavesOut(c *column, f field) bool {
	text := c.typ == cells.TypeAny || c.typ == cells.TypeString || c.typ == cells.TypeBytes
	return p.empty(f) && !(p.blank && text && f.state == present && f.text == "")
}

// numbers are the columns of text whose values are all numbers.
func (p *plan) numbers() (all []FieldReport) {
	for i := range p.columns {
		c := &p.columns[i]
		f := FieldReport{Family: c.family, Qualifier: c.qualifier, Field: p.names.names[c.field], Type: cells.TypeString, Fits: c.fits.lossless(), Values: c.texts}
		if f.Near, f.Respelled = c.fits.near(); f.Fits.Numeric() || f.Near.Numeric() {
			all = append(all, f)
		}
	}
	return all
}

// newCellPlan returns the plan of an import without key and columns; the file must have
// the long form.
func newCellPlan(spec Spec, table schema.Table, f format) (*plan, error) {
	if spec.Timestamp != "" || spec.NA != "" {
		return nil, specErrorf("key", "ts= and na= are for files that need key= and columns= too; without these, the file is one that export wrote, and says all of it")
	}
	p := &plan{format: f, ts: noField, cells: &cellForm{table: table, escaped: !f.json && !f.parquet, fields: map[string]int{}}}
	need := func(part string, names ...string) {
		for _, name := range names {
			p.cells.fields[name] = p.names.add(name, part, "")
		}
	}
	const required, optional = "key", ""
	switch {
	case spec.listed:
		p.cells.listed, p.cells.escaped = true, false
		need(required, listedFields...)
	case spec.scanned:
		p.cells.scanned = true
		need(optional, scannedKey, scannedKey+base64Suffix, scannedCells)
	case f.parquet:
		need(required, rowField, familyField, qualifierField, timestampField, typeField)
		for _, t := range valueTypes {
			need(optional, valueColumn(t))
		}
	case f.json:
		need(optional, rowField, rowField+base64Suffix, familyField, qualifierField, qualifierField+base64Suffix,
			timestampField, typeField, valueField, valueField+base64Suffix)
	default:
		need(required, rowField, familyField, qualifierField, timestampField, typeField, valueField)
	}
	return p, nil
}
