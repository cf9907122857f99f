// Package transfer moves rows between files and tables. [Import] reads CSV and
// JSON lines, plain or compressed, and Parquet into a table: a template makes the
// row key of each line, and a mapping says which field becomes which typed column.
// [Export] writes such files, and Import reads them back without a template or a
// mapping.
//
// An import is all or nothing. A file of up to 10,000 rows is written as one batch.
// A larger one is a bulk load, see [query.BulkLoad]: nothing of it is visible before
// its end, the same file is imported only once, and it does not replace existing
// cells, unless the [Spec] says otherwise.
//
// With [Spec.Batch] rows are written in batches while they are read. A regular file is
// then read twice: if the first pass finds too many bad lines, nothing is written. A
// pipe can be read only once. If it has too many bad lines, the engine fails, or the
// context ends, the batches already written stay, and the error gives the number of
// rows in them.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Spec says what to import and how.
type Spec struct {
	// Path is the file. Its name gives its format: .csv, .tsv, .jsonl or .ndjson, then .gz or
	// .zst if it is compressed, or .parquet. The first line of a CSV file names the
	// fields: #2 is the second one, whatever its name, and column2 if it has none. Each line of a JSON lines file is one object. A field of such a file may be
	// a path: $.to.airport, $.legs[0], $["a name"]. With $.legs[*].miles each element of
	// a list makes a version of the column, at the time of the same element of the list
	// that Timestamp names.
	//
	// A path with *, ? or [ that names no file is a pattern, as in flights-*.csv.gz. Its files
	// are imported together, in the order of their names, all or nothing.
	Path string
	// Format is csv, tsv, jsonl or parquet; "": the file's name gives the format.
	Format string
	// Encoding is one of [Encodings]; "": UTF-8, or UTF-16 if the file begins with its mark.
	Encoding string
	// Dialect says how a CSV or TSV file is written; what it does not say is seen.
	Dialect Dialect
	// In is read in place of a file; Path is then its name in messages. It is not
	// Parquet.
	In io.Reader
	// Key is the template of the row key: {field} is a field's text, {field:04} a whole
	// number padded with zeros to four digits (a longer number is not cut),
	// {field:reversed} an address without its scheme and with its host reversed, as in
	// org.example.docs/install, {{ and }} are braces. Without
	// Key and Columns the file must be in the long form of [Export], have rows as scan
	// prints them in JSON lines, or have a first field key or row and others that are named
	// as columns, meta:model, or as qualifiers of the only family. Else the error is a
	// [*FormError] with a proposal.
	Key string
	// Columns maps fields to columns; with a Key there must be at least one.
	Columns []Mapping
	// Timestamp names the field with the cells' timestamp: microseconds since 1970, RFC
	// 3339, or a date with or without a time, in UTC. It may be a template, as in
	// {year}-{month:02}-{day:02}. If it is empty, each row gets a timestamp from the
	// database's clock.
	Timestamp string
	// NA is a text that means "no value", like an empty field; "": no such text.
	NA string
	// KeepEmpty makes a cell of a field that is there and has the empty text, in a column
	// of text or bytes.
	KeepEmpty bool
	// BadLines is the maximum number of bad lines that are left out. A bad record of
	// several lines counts as several. The first hundred are shown.
	BadLines int
	// Bad is a new file for the text of the bad lines that are left out, after the header of
	// the first file that has one; "": they are not kept. Without BadLines any number is left
	// out. Parquet has no lines to keep.
	Bad string
	// Batch writes the rows in batches of at most this many rows, each visible when it
	// is written; 0 makes the whole file visible at once. Large rows make smaller
	// batches.
	Batch int
	// Again imports a large file even if it was imported before in the same way.
	// Without Again such an import does nothing, and sets [Result.Before].
	Again bool
	// Overlap allows a large file to replace existing cells and to add newer versions;
	// see [query.BulkOptions].
	Overlap bool
	// DryRun writes nothing: [Result.Fields] says what the file has. Without Key and
	// Columns the table need not exist.
	DryRun bool
	// Progress receives a progress bar for a terminal; nil: no bar.
	Progress io.Writer
	// Warn receives one line for each bad line that is left out; nil discards them.
	Warn io.Writer

	files   []string // that Path stands for; none: itself
	all     []string // the fields of the first file, if columns are made of all of them
	scanned bool     // the file has rows as scan prints them in JSON lines
}

// DefaultBatch is the maximum number of rows in one write by default.
const DefaultBatch = 10_000

// A Mapping makes a column from a field. A field that is empty, equals [Spec.NA], is
// null, or is missing from a JSON object makes no cell. If a CSV or JSON lines file
// lacks the field, but has a field with this name and the suffix _hex or _b64, that
// field is decoded. A field with the qualifier's name may also be named
// family:qualifier, as [Export] names it.
type Mapping struct {
	Family, Qualifier string
	// Template makes the qualifier of the record's fields, as [Spec.Key] makes the row
	// key; "": it is Qualifier. If Field leads into the elements of a list, each element
	// is a column, and fields of the template may lead into the same elements.
	Template string
	Field    string
	// Type is the type of the value; TypeAny is the family's declared type. If it has no
	// declared type, numbers and booleans of JSON are i64, f64 and bool, and all else is
	// string, also a number that does not fit them.
	Type cells.Type
	// All makes a column of each member of an object, to which Field leads as a path;
	// Qualifier is not used. $ is the whole object without the members that other
	// fields use. Without Field, All makes a column of each field that nothing else uses.
	All bool
}

// A Result reports an import, even a failed one.
type Result struct {
	Records  int64 // imported lines, or rows of Parquet
	Rows     int64 // distinct rows written
	Cells    int64 // distinct cells; several adds to one cell count once
	Replaced int64 // cells that a later record in the file replaced
	BadLines int64 // lines left out because of a mistake
	NoCells  int64 // lines left out because no mapped field has a value
	NoValue  int64 // elements of lists that make no cell because they have no value
	Elapsed  time.Duration
	// Before is the time of an earlier import of the same file in the same way, if this
	// import therefore did nothing; else 0.
	Before cells.Timestamp
	// Dialect is how the first CSV or TSV file is written: what the spec gives, and what was
	// seen.
	Dialect Dialect
	// Numbers are the columns of text without a declared or named type whose values are all
	// numbers: their Fits is a type of numbers, or their Near.
	Numbers []FieldReport
	// Fields are set by a dry run: the columns that the file makes, or without Key and
	// Columns the fields of a file that is not in the long form.
	Fields []FieldReport
}

// Import reads a file into a table. A mistake in the spec is a [*SpecError], a failure
// with the file an [*Error]. After either nothing is written, except as the package
// comment says.
//
// A line with the same row key and timestamp as an earlier line is a bad line, because
// it would replace the earlier one. Such lines are found in files of any size. If they
// are more than 65,536 lines apart and [Spec.BadLines] allows them, the file is read
// again to leave them out. A pipe cannot be read again, so for a pipe they are an
// error. If all columns are aggregates, such lines are not bad: each line adds to the
// row. In the long form the last line counts.
//
// The memory of an import does not grow with the file: it is a quarter of
// [query.Options.Memory], in addition to the database's own memory. The rest is in
// files in the database's directory.
func Import(ctx context.Context, db *query.DB, table string, spec Spec) (Result, error) {
	t, err := tableOf(ctx, db, table)
	if err != nil && (db == nil || ctx == nil) {
		return Result{}, err
	}
	return importInto(ctx, db, db.Table(table), t, err, spec)
}

// A Table is a table that files are moved to and from: a [query.Table], or one over the
// network.
type Table interface {
	ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error]
	ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) ([]error, error)
}

// ImportInto reads a file into a table, which may be one over the network. It writes
// rows in batches, as [Import] with [Spec.Batch] does, of 10,000 rows by default. It
// does not notice an earlier import of the file, nor cells that it replaces. Columns in
// families with an aggregate therefore need [Spec.Again].
func ImportInto(ctx context.Context, to Table, declared schema.Table, spec Spec) (Result, error) {
	if err := usable(ctx, to); err != nil {
		return Result{}, err
	}
	if declared.Name == "" && len(declared.Families) == 0 {
		return importInto(ctx, nil, to, nil, specErrorf("", "there is no such table"), spec)
	}
	return importInto(ctx, nil, to, &declared, nil, spec)
}

func usable(ctx context.Context, t Table) error {
	switch {
	case t == nil:
		return specErrorf("", "there is no table")
	case ctx == nil:
		return specErrorf("", "the context is nil; context.Background gives one")
	}
	return nil
}

// importInto imports into a table of db, or of a database over the network if db is nil. If
// the table does not exist, declared is nil and missing says so.
func importInto(ctx context.Context, db *query.DB, to Table, declared *schema.Table, missing error, spec Spec) (Result, error) {
	if missing != nil && (spec.Key != "" || len(spec.Columns) > 0) {
		return Result{}, missing
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looks := spec.looks()
	err := spec.prepare(ctx, declared)
	if form, ok := errors.AsType[*FormError](err); ok {
		if looks {
			return look(ctx, spec)
		}
		form.Table = missing
	}
	if err = cmp.Or(err, missing); err != nil {
		return Result{}, err
	}
	im, err := newImporter(db, spec, *declared)
	if err != nil {
		return Result{}, err
	}
	if db == nil && len(im.plan.adds) > 0 && !spec.Again && !spec.DryRun {
		return Result{}, specErrorf("again", "the import adds to aggregates, and over the network a second import of the same file is not noticed; write again to import it")
	}
	im.sink = &tableSink{table: to, plan: im.plan}
	return im.run(ctx)
}

// looks reports whether a dry run shows the fields of a file, for which it needs no table.
func (s *Spec) looks() bool { return s.DryRun && s.Key == "" && len(s.Columns) == 0 }

// look shows the fields of a file.
func look(ctx context.Context, spec Spec) (Result, error) {
	im := &importer{spec: spec}
	err := im.fields(ctx)
	return im.result, err
}

func tableOf(ctx context.Context, db *query.DB, name string) (*schema.Table, error) {
	switch {
	case db == nil:
		return nil, specErrorf("", "there is no database; query.Open gives one")
	case ctx == nil:
		return nil, specErrorf("", "the context is nil; context.Background gives one")
	}
	declared := db.Schema()
	if t, ok := declared.Table(name); ok {
		return t, nil
	}
	var known []string
	for _, t := range declared.Tables {
		known = append(known, t.Name)
	}
	return nil, specErrorf("", "unknown table %s%s", quote(name), schema.DidYouMean(name, known))
}

// tableSink writes to a table.
type tableSink struct {
	table Table
	plan  *plan
	keys  []string
	ms    []*write.Mutation
}

func (s *tableSink) write(ctx context.Context, rows []row) ([]error, error) {
	s.keys, s.ms = s.keys[:0], s.ms[:0]
	for _, r := range rows {
		m := write.NewMutation()
		s.plan.fill(m, r)
		s.keys, s.ms = append(s.keys, r.key), append(s.ms, m)
	}
	return s.table.ApplyBulk(ctx, s.keys, s.ms)
}

// mostTimes bounds the versions among which the cell of an import is looked for.
const mostTimes = 1000

func (s *tableSink) timesOf(ctx context.Context, r row) (times []cells.Timestamp, err error) {
	c := r.cells[s.plan.untimedCell(r)]
	for written, err := range s.table.ReadRows(ctx, read.Key(r.key), read.Column(c.Family, c.Qualifier), read.Versions(mostTimes)) {
		if err != nil {
			return nil, err
		}
		for v := range written.Versions(c.Family, c.Qualifier) {
			if v.Value.Equal(c.Value) {
				times = append(times, v.Timestamp)
			}
		}
	}
	return times, nil
}
