package transfer

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
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
	fixed   bool     // some column has the same name in all records
	na      string
	now     cells.Timestamp // of cells without a time; 0: the time at which their row is written
	blank   bool            // empty text makes a cell
	adds    map[string]bool // the families of columns that are aggregates
	sets    bool            // some column is not an aggregate
	cells   *cellForm       // reads the long form of an export; nil: key and columns are given
	keyText []byte          // scratch
	arena   []cells.Cell    // cells of rows, which are not written again
}

// A column is a mapping with a definite type.
type column struct {
	family, qualifier string // if there is a template, the qualifier is its text
	named             template
	typ               cells.Type
	field             int
	code              code  // if the spec names the field with a suffix
	path              *path // of the field; nil: it is a name
	all               bool  // each member of the field is a column
	comma             bool  // numbers have a decimal comma
	untyped           bool  // neither the spec nor the family names a type
	// Of an untyped column: the texts so far, and the types that take all of them.
	texts int64
	fits  fits
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
		if len(c.named) == 1 { // it has no field
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

// checkTemplate finds a template of qualifiers with the fields of another list than that of
// the values.
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

// A row is a record for the table. All its cells have one timestamp. In the long form a
// row may have several records, and its cells several timestamps.
type row struct {
	line     int
	lines    int // of the record
	also     int // further records that are joined with it
	replaced int // cells that these replaced
	left     int // elements of lists without a value
	key      string
	cells    []cells.Cell
}

func (r row) record() query.Record { return query.Record{Line: r.line, Lines: r.lines} }

// size returns about how many bytes the row takes.
func (r row) size() int {
	n := len(r.key)
	for _, c := range r.cells {
		n += len(c.Qualifier) + c.Value.EncodedLen()
	}
	return n
}

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

// serverTime stands for a timestamp from the database's clock.
const serverTime cells.Timestamp = -1

// untimed returns the index of the first row that has a cell without a time, if cells of
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

// fill adds a row's cells to a mutation. Values for an aggregate are added, at
// timestamp 0 unless the file has a timestamp.
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

// arenaCells is the number of cells that are allocated together.
const arenaCells = 4096

// room is room for up to n cells of the next row.
func (p *plan) room(n int) []cells.Cell {
	if cap(p.arena)-len(p.arena) < n {
		p.arena = make([]cells.Cell, 0, max(n, arenaCells))
	}
	return p.arena[len(p.arena):]
}

// made is a row of cells in such room.
func (p *plan) made(rec *record, key string, made []cells.Cell) row {
	p.arena = p.arena[:len(p.arena)+len(made)]
	return row{line: rec.base + rec.line, lines: max(rec.lines, 1), key: key, cells: slices.Clip(made)}
}

func (p *plan) cellRow(rec *record) (row, *LineError) {
	if p.cells.scanned {
		key, made, bad := p.cells.scannedRow(rec)
		return row{line: rec.base + rec.line, lines: 1, key: key, cells: made}, bad
	}
	key, bad := p.cells.key(rec)
	if bad != nil {
		return row{}, bad
	}
	cell, bad := p.cells.cell(rec)
	if bad != nil {
		return row{}, bad
	}
	return p.made(rec, key, append(p.room(1), cell)), nil
}

func (p *plan) row(rec *record) (row, *LineError) {
	if p.cells != nil {
		return p.cellRow(rec)
	}
	var bad *LineError
	if p.keyText, bad = p.key.append(p.keyText[:0], rec, "row key", rec.field); bad != nil {
		return row{}, bad
	}
	if n := len(p.keyText); n == 0 || n > cells.MaxRowKey {
		return row{}, rec.wrong("makes a row key of %d bytes; a row key has 1 to %d", n, cells.MaxRowKey)
	}
	ts := serverTime
	if p.spreads && p.tsPath != nil && p.tsPath.list {
		times, bad := p.elementTimes(rec)
		if bad != nil {
			return row{}, bad
		}
		return p.spreadRow(rec, ts, times)
	}
	if p.ts != noField || p.tsOf != nil {
		if ts, bad = p.timestamp(rec); bad != nil {
			return row{}, bad
		}
	}
	if p.spreads {
		return p.spreadRow(rec, ts, nil)
	}
	made := p.room(len(p.columns))
	for i := range p.columns {
		c := &p.columns[i]
		f := rec.fields[c.field]
		switch {
		case f.state == nested:
			return row{}, rec.notOneValue(c)
		case p.leavesOut(c, f):
			continue
		}
		text, bad := rec.decoded(c.field)
		if bad != nil {
			return row{}, bad
		}
		text, problem := c.code.decode(text)
		if problem != "" {
			return row{}, rec.fault(c.field, "%s", problem)
		}
		v, problem := c.convert(text, f)
		if problem != "" {
			return row{}, rec.fault(c.field, "%s (for %s:%s)", problem, c.family, c.qualifier)
		}
		name, bad := p.name(c, rec, rec.field)
		if bad != nil {
			return row{}, bad
		}
		made = append(made, cells.Cell{Family: c.family, Qualifier: name, Timestamp: ts, Value: v})
	}
	return p.made(rec, string(p.keyText), made), nil
}

// spreadRow makes a row whose number of cells depends on the record.
func (p *plan) spreadRow(rec *record, ts cells.Timestamp, times []cells.Timestamp) (row, *LineError) {
	s := spread{plan: p, rec: rec, ts: ts, times: times, seen: map[spreadCell]int{}}
	for i := range p.columns {
		if bad := s.column(&p.columns[i]); bad != nil {
			return row{}, bad
		}
	}
	return row{line: rec.base + rec.line, lines: max(rec.lines, 1), key: string(p.keyText), cells: s.made, left: s.left}, nil
}

// empty reports whether a field has no value.
func (p *plan) empty(f field) bool {
	return f.state == absent || f.text == "" && f.state != typed || p.na != "" && f.text == p.na
}

// leavesOut reports whether a field makes no cell of the column.
func (p *plan) leavesOut(c *column, f field) bool {
	text := c.typ == cells.TypeAny || c.typ == cells.TypeString || c.typ == cells.TypeBytes
	return p.empty(f) && !(p.blank && text && f.state == present && f.text == "")
}

// convert makes a value of a field's text.
func (c *column) convert(text string, f field) (v cells.Value, problem string) {
	typ := c.typ
	if typ == cells.TypeAny {
		typ = f.naturalType()
	}
	if c.untyped && typ == cells.TypeString && c.fits.number() {
		of := text
		if c.comma {
			of, _ = withPoint(text)
		}
		c.fits.add(of)
		c.texts++
	}
	if c.comma && (typ.Numeric() || typ == cells.TypeByte) && strings.ContainsAny(text, ",.") {
		plain, ok := withPoint(strings.TrimSpace(text))
		if !ok {
			return v, quote(text) + " is not a number with a decimal comma, as 1234,5 or 1.234,5"
		}
		text = plain
	}
	return convert(text, typ)
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

func (p *plan) timestamp(rec *record) (cells.Timestamp, *LineError) {
	if p.tsOf != nil {
		text, bad := p.tsOf.append(nil, rec, "timestamp", rec.field)
		if bad != nil {
			return 0, bad
		}
		ts, problem := parseTimestamp(string(text))
		if problem != "" {
			return 0, rec.wrong("makes a timestamp: %s", problem)
		}
		return ts, nil
	}
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
