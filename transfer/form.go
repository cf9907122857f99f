package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/schema"
)

// prepare finds the files, sees how the first is written, and fills in columns that a spec
// leaves to the file: FAM:* and the forms that smolwc itself writes. A [*FormError] says
// that the spec gives neither and the file is of no such form.
func (s *Spec) prepare(ctx context.Context, table *schema.Table) error {
	if err := s.find(); err != nil {
		return err
	}
	if err := errors.Join(s.Dialect.check(), checkEncoding(s.Encoding)); err != nil {
		return err
	}
	f, err := s.format()
	if err != nil {
		return err
	}
	if (f.json || f.parquet) && s.Dialect != (Dialect{}) {
		return specErrorf("", "%s: only CSV and TSV have separators, quotes, a header and the like", s.Path)
	}
	if s.Bad != "" {
		if f.parquet {
			return specErrorf("bad", "a Parquet file has no lines to keep")
		}
		if s.BadLines == 0 {
			s.BadLines = math.MaxInt32
		}
		if s.Warn == nil {
			s.Warn = io.Discard
		}
	}
	if s.Key == "" && len(s.Columns) == 0 {
		return s.findForm(ctx, f, table)
	}
	return s.expand(ctx, f)
}

// A FormError says that an import names no key and no columns, and that its file is not in
// a form that gives them: the long form of [Export], rows as scan prints them in JSON
// lines, or a field key or row beside fields that are named as columns.
type FormError struct {
	Path string
	// Proposal is an import that would read the file. It is nil for a file without fields.
	Proposal *Proposal
	// Table is the error of a table that does not exist; nil: it does.
	Table error
}

// Error says what is missing.
func (e *FormError) Error() string {
	if e.Table != nil {
		return e.Table.Error()
	}
	return e.Path + ": the file does not say which fields are the key and the columns"
}

// Unwrap returns the error of the table.
func (e *FormError) Unwrap() error {
	return e.Table
}

// A beginning describes the first records of a file.
type beginning struct {
	sight
	json bool
	scan bool // rows as scan prints them in JSON lines
	// wrong says why the first line is no object of JSON; nil: it is one.
	wrong *LineError
	empty bool // there is no record at all
}

// begin reads the beginning of the first file, whose fields should include names.
func (s *Spec) begin(ctx context.Context, f format, names *fieldNames) (b beginning, err error) {
	path := s.paths()[0]
	in := s.In
	f = f.of(path, in)
	whole := true
	if in == nil && f.live && f.compression == "" && !f.parquet { // a pipe can be opened once
		file, err := osfile.Open(ctx, path, os.O_RDONLY, 0)
		if err != nil {
			return b, fileError(path, err)
		}
		context.AfterFunc(ctx, func() { _ = file.Close() }) // read only
		in, s.Format = osfile.Reader(ctx, file), f.label()
	}
	if in != nil { // these records are read again
		buffered := bufio.NewReaderSize(osfile.Reader(ctx, in), sniffed)
		var head []byte
		if head, whole, buffered, err = peek(buffered, true); err != nil {
			return b, readError(path, 0, err)
		}
		s.In, in = buffered, bytes.NewReader(head)
	} else if f.live {
		return b, nil // without a second look it is an export
	}
	src, err := openSource(ctx, path, in, f, nil)
	if err != nil {
		return b, err
	}
	defer src.close()
	if f.parquet {
		p, err := newParquetReader(path, src.file, nil, &fieldNames{})
		if err != nil {
			return b, err
		}
		b.header = newHeader(p.file.Fields())
		return b, nil
	}
	text := bufio.NewReaderSize(src.text, sniffed)
	head, all, _, err := peek(text, false)
	if err != nil {
		return b, readError(path, 0, err)
	}
	whole = whole && all
	empty := len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))) == 0
	if f.json {
		b = beginningOfJSON(path, head, whole)
		b.empty = empty
		return b, nil
	}
	b.empty = empty
	b.sight = sniffFor(head, whole, s.Dialect.of(f), names)
	if f.tabs && len(b.rows) == 0 && len(b.names) == 0 || empty {
		b.names = nil
	}
	return b, nil
}

func beginningOfJSON(path string, head []byte, whole bool) (b beginning) {
	b.json = true
	j, _ := newJSONReader(path, bytes.NewReader(head), &fieldNames{}) // it does not read yet
	all := newMembers(nil)
	for len(b.rows) < sniffedRows {
		line, err := j.readLine()
		if err != nil || !whole && !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		raw := strings.TrimSpace(string(line))
		if raw == "" {
			continue
		}
		row, bad := all.row(raw, &record{file: path, line: j.line, lines: 1})
		if bad != nil {
			if len(b.rows) == 0 && b.wrong == nil {
				b.wrong = bad
			}
			if len(b.rows) == 0 && raw[0] == '[' { // a list over several lines
				return b
			}
			continue
		}
		has := func(name string) bool { _, is := all.index[name]; return is }
		b.scan = b.scan || len(b.rows) == 0 && (has(scannedKey) || has(scannedKey+base64Suffix)) && has(scannedCells)
		b.rows = append(b.rows, row)
	}
	b.names = all.names
	b.scan = b.scan || len(b.rows) == 0 && beginsScanned(head)
	return b
}

// beginsScanned reports whether a line that goes on after head begins as scan prints a row.
func beginsScanned(head []byte) bool {
	var names []string
	in := json.NewDecoder(bytes.NewReader(head))
	for _, want := range []json.Token{json.Delim('{'), nil, nil, nil, json.Delim('[')} {
		token, err := in.Token()
		if err != nil || want != nil && token != want {
			return false
		}
		if name, is := token.(string); is {
			names = append(names, name)
		}
	}
	return len(names) == 3 && (names[0] == scannedKey || names[0] == scannedKey+base64Suffix) && names[2] == scannedCells
}

// expand makes a mapping of each field that no other one uses for FAM:*.
func (s *Spec) expand(ctx context.Context, f format) error {
	isAll := func(m Mapping) bool { return m.All && m.Field == "" }
	i := slices.IndexFunc(s.Columns, isAll)
	if i < 0 {
		return nil
	}
	if f.json { // each line may have other members
		s.Columns = slices.Clone(s.Columns)
		for i := range s.Columns {
			if isAll(s.Columns[i]) {
				s.Columns[i].Field = "$"
			}
		}
		return nil
	}
	used, err := s.used(f, slices.DeleteFunc(slices.Clone(s.Columns), isAll))
	if err != nil {
		return err
	}
	b, err := s.begin(ctx, f, used)
	if err != nil {
		return err
	}
	taken := map[int]bool{}
	for i, part := range used.parts {
		at, _, err := used.find(i, b.header)
		if err != nil || at < 0 {
			return specErrorf(part, "%s: %v", s.paths()[0], err)
		}
		taken[at] = true
	}
	family := s.Columns[i].Family
	if slices.ContainsFunc(s.Columns[i+1:], isAll) {
		return specErrorf("columns", "all fields go into one family; name the fields of the others")
	}
	var all []Mapping
	for at, name := range b.names {
		if !taken[at] {
			all = append(all, Mapping{Family: family, Qualifier: name, Field: name, Type: s.Columns[i].Type})
		}
	}
	s.Columns = slices.Concat(s.Columns[:i], all, s.Columns[i+1:])
	s.all = b.names
	return nil
}

// used are the fields that the key, the time and columns name.
func (s *Spec) used(f format, columns []Mapping) (*fieldNames, error) {
	names := &fieldNames{coded: !f.parquet}
	var err error
	template := func(text, part string) {
		if _, bad := parseTemplate(text, part, names); err == nil {
			err = bad
		}
	}
	template(s.Key, "key")
	for _, m := range columns {
		if m.Template != "" {
			template(m.Template, "columns")
		}
		names.add(m.Field, "columns", "")
	}
	if strings.ContainsAny(s.Timestamp, "{}") {
		template(s.Timestamp, "ts")
	} else if s.Timestamp != "" {
		names.add(s.Timestamp, "ts", "")
	}
	return names, err
}

// findForm finds the form of a file without a key and columns.
func (s *Spec) findForm(ctx context.Context, f format, table *schema.Table) error {
	b, err := s.begin(ctx, f, &fieldNames{})
	if err != nil {
		return err
	}
	has := func(name string) bool { return slices.Contains(b.names, name) }
	switch {
	case b.scan:
		s.scanned = true
		return nil
	case slices.Equal(b.names, listedFields):
		if table != nil && table.KeyFormat == schema.TupleKeys {
			return specErrorf("", "%s: keys of tuples cannot be read from it; scan … as jsonl and export write files that come back", s.paths()[0])
		}
		s.listed = true
		return nil
	case len(b.names) == 0 && table == nil && !f.live && s.In == nil:
		switch {
		case b.wrong != nil:
			return b.wrong
		case b.empty:
			return fmt.Errorf("%s: the file is empty", s.paths()[0])
		}
		return nil
	case has(familyField) && has(timestampField) && has(typeField), len(b.names) == 0:
		return nil // the long form, or an error about it
	case table != nil && s.wide(b, table):
		return nil
	}
	p, err := s.propose(ctx, b, f, table)
	if err != nil {
		return err
	}
	return &FormError{Path: s.Path, Proposal: p}
}

// keyNames are the names of the field with the row key in a wide file: those that scan and
// export write.
var keyNames = []string{"key", "row"}

// wide takes a file with the key in its first field and columns in the others: as
// family:qualifier, or by their qualifiers in a table of a single family.
func (s *Spec) wide(b beginning, table *schema.Table) bool {
	if b.json || len(b.names) < 2 || !slices.Contains(keyNames, b.names[0]) || table.KeyFormat == schema.TupleKeys {
		return false
	}
	var columns []Mapping
	for _, name := range b.names[1:] {
		family, qualifier, ok := strings.Cut(name, ":")
		if _, is := table.Family(family); !ok || !is {
			if len(table.Families) != 1 {
				return false
			}
			family, qualifier = table.Families[0].Name, name
		}
		columns = append(columns, Mapping{Family: family, Qualifier: qualifier, Field: name})
	}
	s.Key, s.Columns, s.all = "{"+b.names[0]+"}", columns, b.names
	return true
}

// mostProposed bounds the columns that a proposal names; more are all fields.
const mostProposed = 20

// propose finds a key and columns.
func (s *Spec) propose(ctx context.Context, b beginning, f format, table *schema.Table) (*Proposal, error) {
	seen, err := s.survey(ctx, f, b.sight)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Names: b.names, Rows: b.rows[:min(len(b.rows), 5)], Dialect: b.Dialect, NA: seen.na}
	keys, unique := seen.keyFields(ctx, b.names)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var parts []string
	for _, i := range keys {
		parts = append(parts, "{"+b.fieldName(i)+"}")
	}
	p.Key, p.Unique = strings.Join(parts, "#"), unique
	if table != nil {
		p.Family = familyFor(table)
	}
	for i, name := range b.names {
		switch of := &seen.fields[i]; {
		case of.nested:
			p.Nested = append(p.Nested, name)
		case s.NA == "" && seen.hasNA(of) && of.rest.seen && !of.rest.number():
			p.Missing = append(p.Missing, name)
		}
	}
	if (len(b.names) > mostProposed || f.parquet) && len(p.Nested) == 0 {
		p.Columns = []Mapping{{Family: p.Family, All: true}}
		return p, nil
	}
	for i, name := range b.names {
		if len(keys) == 1 && i == keys[0] || seen.fields[i].nested {
			continue
		}
		m := Mapping{Family: p.Family, Qualifier: name, Field: b.fieldName(i)}
		if typ := seen.typeOf(i); typ != cells.TypeString && !f.json {
			m.Type = typ
		}
		p.Columns = append(p.Columns, m)
	}
	if len(p.Columns) == 0 { // the key is the only field
		p.Columns = []Mapping{{Family: p.Family, Qualifier: b.names[0], Field: b.fieldName(0)}}
	}
	if slices.IndexFunc(p.Columns, func(m Mapping) bool { return m.Type != cells.TypeAny }) < 0 && len(keys) == 1 && len(p.Columns) > 1 && len(p.Nested) == 0 {
		p.Columns = []Mapping{{Family: p.Family, All: true}} // shorter, and the same
	}
	return p, nil
}

// familyFor is a family that takes text and numbers, if there is one.
func familyFor(table *schema.Table) (name string) {
	for _, typ := range []cells.Type{cells.TypeAny, cells.TypeString} {
		for _, f := range table.Families {
			if f.Aggregate == schema.NoAggregate && f.Type == typ {
				return f.Name
			}
		}
	}
	for _, f := range table.Families {
		return f.Name
	}
	return ""
}

// fieldName names a field in a spec: by its place if its name contains braces.
func (b *beginning) fieldName(i int) string {
	if strings.ContainsAny(b.names[i], "{}") && !b.json {
		return fmt.Sprintf("#%d", i+1)
	}
	return b.names[i]
}

// Summary shows the first records, a line for each field.
func (p *Proposal) Summary() (lines []string) {
	for i, name := range p.Names {
		var values []string
		for _, row := range p.Rows {
			if i < len(row) && row[i] != "" {
				values = append(values, excerpt.Of(row[i]))
			}
		}
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	return lines
}
