package transfer

import (
	"bufio"
	"bytes"
	"context"
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
		if head, whole, err = peek(buffered, true); err != nil {
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
	head, all, err := peek(text, false)
	if err != nil {
		return b, readError(path, 0, err)
	}
	whole = whole && all
	if f.json {
		return beginningOfJSON(path, head, whole), nil
	}
	b.sight = sniffFor(head, whole, s.Dialect.of(f), names)
	if f.tabs && len(b.rows) == 0 && len(b.names) == 0 || len(bytes.TrimSpace(head)) == 0 {
		b.names = nil
	}
	return b, nil
}

func beginningOfJSON(path string, head []byte, whole bool) (b beginning) {
	b.json = true
	j, _ := newJSONReader(path, bytes.NewReader(head), &fieldNames{}) // it does not read yet
	index := map[string]int{}
	for len(b.rows) < sniffedRows {
		line, err := j.readLine()
		if err != nil || !whole && !bytes.HasSuffix(line, []byte("\n")) {
			return b
		}
		raw := strings.TrimSpace(string(line))
		if raw == "" || checkObject(raw, &record{}) != nil {
			continue
		}
		row := make([]string, len(b.names))
		fields := map[string]bool{}
		eachMember(raw, func(name, value string) {
			fields[name] = true
			i, known := index[name]
			if !known {
				i = len(b.names)
				index[name] = i
				b.names, row = append(b.names, name), append(row, "")
			}
			f, _ := fieldOf(value)
			if row[i] = f.text; f.state == nested {
				row[i] = "…"
			}
		})
		b.scan = b.scan || len(b.rows) == 0 && (fields[scannedKey] || fields[scannedKey+base64Suffix]) && fields[scannedCells]
		b.rows = append(b.rows, row)
	}
	return b
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
	case has(familyField) && has(timestampField) && has(typeField), len(b.names) == 0:
		return nil // the long form, or an error about it
	case b.scan:
		s.scanned = true
		return nil
	case table != nil && s.wide(b, table):
		return nil
	}
	return &FormError{Path: s.Path, Proposal: s.propose(b, f, table)}
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
func (s *Spec) propose(b beginning, f format, table *schema.Table) *Proposal {
	p := &Proposal{Names: b.names, Rows: b.rows[:min(len(b.rows), 5)], Dialect: b.Dialect}
	keys := b.keyFields()
	var parts []string
	for _, i := range keys {
		parts = append(parts, "{"+b.fieldName(i)+"}")
	}
	p.Key, p.Unique = strings.Join(parts, "#"), b.unique(keys)
	if table != nil {
		p.Family = familyFor(table)
	}
	if len(b.names) > mostProposed || f.parquet {
		p.Columns = []Mapping{{Family: p.Family, All: true}}
		return p
	}
	for i, name := range b.names {
		if len(keys) == 1 && i == keys[0] {
			continue
		}
		m := Mapping{Family: p.Family, Qualifier: name, Field: b.fieldName(i)}
		if typ := b.typeOf(i); typ != cells.TypeString && !f.json {
			m.Type = typ
		}
		p.Columns = append(p.Columns, m)
	}
	if len(p.Columns) == 0 { // the key is the only field
		p.Columns = []Mapping{{Family: p.Family, Qualifier: b.names[0], Field: b.fieldName(0)}}
	}
	if slices.IndexFunc(p.Columns, func(m Mapping) bool { return m.Type != cells.TypeAny }) < 0 && len(keys) == 1 && len(p.Columns) > 1 {
		p.Columns = []Mapping{{Family: p.Family, All: true}} // shorter, and the same
	}
	return p
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

// keyFields are the indices of the fields that make a key: one that tells all lines apart, else
// two, else the first.
func (b *beginning) keyFields() []int {
	best, most := -1, -1
	for i, name := range b.names {
		if !b.unique([]int{i}) {
			continue
		}
		score := 10 - min(i, 10)
		switch name := strings.ToLower(name); {
		case slices.Contains([]string{"id", "key", "row", "uuid", "guid", "_id", "rowkey", "row_key"}, name):
			score += 40
		case strings.HasSuffix(name, "id") || strings.HasSuffix(name, "key") || strings.HasSuffix(name, "code"):
			score += 20
		}
		if typ := b.typeOf(i); typ == cells.TypeF64 || typ == cells.TypeBool {
			score -= 15
		}
		if score > most {
			best, most = i, score
		}
	}
	if best >= 0 {
		return []int{best}
	}
	for i := range min(len(b.names), 8) {
		for j := i + 1; j < min(len(b.names), 8); j++ {
			if b.unique([]int{i, j}) {
				return []int{i, j}
			}
		}
	}
	return []int{0}
}

// unique reports whether each record gives values for these fields, and no two the same.
func (b *beginning) unique(fields []int) bool {
	seen := map[string]bool{}
	for _, row := range b.rows {
		var key strings.Builder
		for _, i := range fields {
			if i >= len(row) || strings.TrimSpace(row[i]) == "" || row[i] == "…" {
				return false
			}
			fmt.Fprintf(&key, "%d %s", len(row[i]), row[i])
		}
		if seen[key.String()] || key.Len() > cells.MaxRowKey {
			return false
		}
		seen[key.String()] = true
	}
	return len(b.rows) > 0
}

// typeOf is the narrowest type that keeps the values of a field.
func (b *beginning) typeOf(i int) cells.Type {
	var of fits
	for _, row := range b.rows {
		if i >= len(row) || row[i] == "" {
			continue
		}
		text := row[i]
		if b.Decimal == "," {
			text, _ = withPoint(text)
		}
		of.add(text)
	}
	if !of.seen {
		return cells.TypeString
	}
	typ := of.lossless()
	if near, _ := of.near(); near != cells.TypeAny && (b.Decimal == "," || near == cells.TypeF64) {
		typ = near
	}
	if typ == cells.TypeBytes {
		return cells.TypeString
	}
	return typ
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
