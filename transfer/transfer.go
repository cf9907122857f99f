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
// With [Spec.Batch] rows are written in batches, as they are read. A regular file is
// then read twice: if the first reading finds too many bad lines, nothing is written.
// A pipe can be read only once. When its lines are bad, the engine fails or the
// context ends half-way, the batches already written stay, and the error says how
// many rows those are.
package transfer

import (
	"context"
	"io"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Spec says what to import and how.
type Spec struct {
	// Path is the file. Its name gives its format: .csv, .jsonl or .ndjson, then
	// .gz or .zst if it is compressed, or .parquet. The first line of a CSV file
	// names the fields; each line of a JSON lines file is one flat object.
	Path string
	// Key is the template of the row key: text with {field} for a field as it
	// is written, {field:04} for a whole number padded with zeros to four
	// digits (a longer one stays as it is), {{ and }} for braces. Without a
	// Key and Columns the file is one that [Export] wrote in the long form.
	Key string
	// Columns maps the fields to columns; with a Key there must be at least one.
	Columns []Mapping
	// Timestamp names the field that holds the cells' timestamp: microseconds
	// since 1970, RFC 3339, or a date with or without a time, taken as UTC. If
	// it is empty, each row gets one of the database's clock.
	Timestamp string
	// NA is text that means "no value", like an empty field; with "" there is no
	// such text.
	NA string
	// BadLines is how many bad lines are tolerated and left out. A bad record of
	// several lines counts as that many.
	BadLines int
	// Batch writes the rows in batches of at most this many, each visible when it
	// is written; 0 makes the file visible as a whole. Large rows make smaller
	// batches.
	Batch int
	// Again imports a large file again that was imported before in the same way.
	// Otherwise such an import does nothing, and [Result.Before] says so.
	Again bool
	// Overlap lets a large file replace cells that are there, and put its own in
	// front of older ones; see [query.BulkOptions].
	Overlap bool
	// Progress gets a progress bar, which needs a terminal; nil shows none.
	Progress io.Writer
	// Warn gets one line for each bad line that is tolerated; nil discards them.
	Warn io.Writer
}

// DefaultBatch is the most rows of one write when a [Spec] does not set it.
const DefaultBatch = 10_000

// A Mapping makes a column of a field. A field that is empty, equals [Spec.NA], is
// null, or is missing from a JSON object makes no cell. If a CSV or JSON lines
// file lacks the field, but has one with this name and the suffix _hex or _b64,
// that one is decoded. A field with the qualifier's name may also be called
// family:qualifier, as [Export] calls it.
type Mapping struct {
	Family, Qualifier string
	Field             string
	// Type is the type to read the text as; TypeAny is the type that the family
	// declares, or string if it declares none.
	Type cells.Type
}

// A Result reports an import, also a failed one.
type Result struct {
	Records  int64 // lines of the file, or rows of Parquet, that were imported
	Rows     int64 // different rows that they were written to
	Cells    int64 // different cells; adds to one cell make one
	Replaced int64 // cells of the long form that a later record replaced, since the file has them again
	BadLines int64 // lines left out because something is wrong with them
	NoCells  int64 // lines left out because no mapped field has a value
	Elapsed  time.Duration
	// Before is the time of an earlier import of the same file in the same way,
	// if this import did nothing for that reason; 0 otherwise.
	Before cells.Timestamp
}

// Import reads a file into a table. A fault of the spec is a [*SpecError], a
// fault of the file an [*Error]; after either nothing is written, except as the
// package comment says.
//
// The second of two lines with the same row key and the same timestamp is a bad
// line, since it would replace the first. Such lines are found in a file of any
// size. If they stand more than 65,536 lines apart and [Spec.BadLines] tolerates
// them, the file is read once more to leave them out; from a pipe, which cannot be
// read again, they are an error. If all columns are aggregates, such lines are not
// bad: each line adds to the row. In the long form the last one counts.
//
// The memory of an import does not grow with the file: it is a quarter of
// [query.Options.Memory] besides the database's own; the rest is in files in the
// database's directory.
func Import(ctx context.Context, db *query.DB, table string, spec Spec) (Result, error) {
	if err := given(ctx, db); err != nil {
		return Result{}, err
	}
	declared := db.Schema()
	t, ok := declared.Table(table)
	if !ok {
		return Result{}, specErrorf("", "unknown table %s%s", quote(table), didYouMeanTable(table, declared))
	}
	return run(ctx, spec, *t, &tableSink{db: db, table: db.Table(table), adds: aggregates(t)})
}

// given is an error when an argument is missing that imports and exports require.
func given(ctx context.Context, db *query.DB) error {
	switch {
	case db == nil:
		return specErrorf("", "there is no database; query.Open gives one")
	case ctx == nil:
		return specErrorf("", "the context is nil; context.Background gives one")
	}
	return nil
}

func didYouMeanTable(name string, s *schema.Schema) string {
	var known []string
	for _, t := range s.Tables {
		known = append(known, t.Name)
	}
	return schema.DidYouMean(name, known)
}

// tableSink writes to a table.
type tableSink struct {
	db    *query.DB
	table *query.Table
	adds  map[string]bool // the families that aggregate; nil without any
	keys  []string
	ms    []*write.Mutation
}

func (s *tableSink) write(ctx context.Context, rows []row) ([]error, error) {
	s.keys, s.ms = s.keys[:0], s.ms[:0]
	for _, r := range rows {
		m := write.NewMutation()
		s.fill(m, r)
		s.keys, s.ms = append(s.keys, r.key), append(s.ms, m)
	}
	return s.table.ApplyBulk(ctx, s.keys, s.ms)
}

func (s *tableSink) ledger(ctx context.Context, repeated func(query.Repeat)) (ledger, error) {
	return s.db.Ledger(ctx, repeated)
}

// fill adds a row's cells to a mutation. Values for an aggregate are added, at
// timestamp 0 unless the file has a timestamp.
func (s *tableSink) fill(m *write.Mutation, r row) {
	for _, c := range r.cells {
		switch {
		case s.adds != nil && s.adds[c.Family]:
			m.AddAt(c.Family, c.Qualifier, max(c.Timestamp, 0), c.Value)
		case c.Timestamp == serverTime:
			m.Set(c.Family, c.Qualifier, c.Value)
		default:
			m.SetAt(c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
	}
}

// aggregates are the families of a table that aggregate.
func aggregates(t *schema.Table) map[string]bool {
	var adds map[string]bool
	for _, f := range t.Families {
		if f.Aggregate == schema.NoAggregate {
			continue
		}
		if adds == nil {
			adds = map[string]bool{}
		}
		adds[f.Name] = true
	}
	return adds
}
