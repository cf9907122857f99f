package transfer

import (
	"io"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
)

// A Spec says what to import and how.
type Spec struct {
	// Path is the file. Its name gives its format: .csv, .tsv, .jsonl or .ndjson, then .gz
	// or .zst if it is compressed, or .parquet. The first line of a CSV file names the
	// fields: #2 is the second one, whatever its name, and column2 if it is nameless. Each
	// line of a JSON lines file is one object. A field of such a file may be a path:
	// $.to.airport, $.legs[0], $["a name"]. With $.legs[*].miles each element of a list
	// makes a version of the column, at the time of the same element of the list that
	// Timestamp names.
	//
	// A path with *, ? or [ that names no file is a pattern, as in flights-*.csv.gz. Its files
	// are imported together, in the order of their names, all or nothing.
	Path string
	// Format is csv, tsv, jsonl or parquet; "": the file's name gives the format.
	Format string
	// Encoding is one of [Encodings]; "": UTF-8, or UTF-16 if the file begins with its mark.
	Encoding string
	// Dialect says how a CSV or TSV file is written; unset parts are seen.
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
	// KeepEmpty makes a cell of a field that is there and empty, in a column of text or
	// bytes.
	KeepEmpty bool
	// BadLines is the maximum number of bad lines that are left out. A bad record of
	// several lines counts as several. The first hundred are shown.
	BadLines int
	// Bad is a new file for the text of the bad lines that are left out, after the header
	// of the first file with one; "": they are not kept. Without BadLines any number is
	// left out. Parquet is without lines to keep.
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
	// DryRun writes nothing: [Result.Fields] says what is in the file. Without Key and
	// Columns the table need not exist.
	DryRun bool
	// Progress receives a progress bar for a terminal; nil: no bar.
	Progress io.Writer
	// Warn receives one line for each bad line that is left out; nil discards them.
	Warn io.Writer

	files   []string // that Path stands for; none: itself
	all     []string // the fields of the first file, if columns are made of all of them
	scanned bool     // the file contains rows as scan prints them in JSON lines
	listed  bool     // or cells as scan prints them in CSV and TSV
}

// DefaultBatch is the maximum number of rows in one write by default.
const DefaultBatch = 10_000

func (m Mapping) columnName() string {
	if m.Field != "" {
		return m.Field
	}
	return m.Family + ":" + m.Qualifier
}

// A Mapping makes a column from a field. A field that is empty, equals [Spec.NA], is null,
// or is missing from a JSON object makes no cell. If a CSV or JSON lines file lacks the
// field, but contains one of this name with the suffix _hex or _b64, that field is decoded.
// A field with the qualifier's name may also be named family:qualifier, as [Export] names
// it.
type Mapping struct {
	Family, Qualifier string
	// Template makes the qualifier of the record's fields, as [Spec.Key] makes the row
	// key; "": it is Qualifier. If Field leads into the elements of a list, each element
	// is a column, and fields of the template may lead into the same elements.
	Template string
	Field    string
	// Type is the type of the value; TypeAny is the family's declared type. Without a
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
	NoCells  int64 // lines left out because all mapped fields are empty
	NoValue  int64 // elements of lists that make no cell because they have no value
	Elapsed  time.Duration
	// Before is the time of an earlier import of the same file in the same way, if this
	// import therefore did nothing; else 0.
	Before cells.Timestamp
	// Dialect is how the first CSV or TSV file is written: given by the spec, or
	// seen.
	Dialect Dialect
	// Numbers are the columns of text without a declared or named type whose values are all
	// numbers: their Fits is a type of numbers, or their Near.
	Numbers []FieldReport
	// Fields are set by a dry run: the columns that the file makes, or without Key and
	// Columns the fields of a file that is not in the long form.
	Fields []FieldReport
	// Proposal is set by a dry run without Key and Columns, of a file that does not name
	// them: an import that would read it.
	Proposal *Proposal
}

// An ExportSpec says what to export and how.
type ExportSpec struct {
	// Path is the file. It gets this name when it is complete. The extension gives the
	// format: .csv, .jsonl, .ndjson or .parquet, the first three also with .gz or .zst.
	// .avro is a dump for Bigtable's import: see docs/exporting.md. "-" writes to Out.
	Path string
	// Format overrides the format of the file's name: "csv", "jsonl" or "parquet".
	Format string
	// Wide, if not empty, makes one line for each row, with the newest cell of each of
	// these columns as a field. Otherwise there is one line for each cell, and [Import]
	// restores the same cells. A Mapping without a Field uses the field
	// family:qualifier.
	Wide []Mapping
	// AllWide makes one line for each row of JSON lines, with the newest cell of each
	// of its columns as the member family:qualifier. Whole numbers of up to 53 bits are
	// numbers. A row in which two members would have one name ends the export with a
	// [SpecError].
	AllWide bool
	// Bytes is the encoding, "hex" or "base64", of values of type bytes, and of row
	// keys that are not UTF-8, in the wide form of CSV and JSON lines. The name of such
	// a field ends in _hex or _b64, and [Import] finds it by its name without that
	// suffix. "" is hex in CSV and base64 in JSON lines.
	Bytes string
	// Options select the exported rows and cells; without options, all of them,
	// including all versions.
	Options []read.Option
	// Overwrite replaces an existing file.
	Overwrite bool
	// Out is the writer for "-".
	Out io.Writer
	// Progress receives a counter for a terminal; nil: no counter.
	Progress io.Writer
}

// An ExportResult says what an export wrote.
type ExportResult struct {
	Rows, Cells int64
	Bytes       int64 // of the file
	Elapsed     time.Duration
}

// A Proposal is how a file could be imported, by its first records: at most 262,144, and 32
// MiB of text.
type Proposal struct {
	Key     string    // the template
	Unique  bool      // no two lines that were seen have the same key
	NA      string    // the text of fields without a value, or ""
	Columns []Mapping // without a family if the table does not exist
	Family  string    // of the columns; "": the table does not exist, or is without families
	Dialect Dialect   // of CSV, as far as it is not plain
	Names   []string  // of the fields
	Nested  []string  // fields with objects or lists, which are left out
	Missing []string  // fields with text, where it may mean something that NA is left out
	Rows    [][]string
}
