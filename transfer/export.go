package transfer

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// Export writes the visible cells of a table at one moment, each cell once. Memory is
// bounded, however large the table and its rows are. An existing file is not replaced
// unless Overwrite is set. After an error there is no file; bytes already written to
// Out stay.
func Export(ctx context.Context, db *query.DB, table string, spec ExportSpec) (ExportResult, error) {
	t, err := tableOf(ctx, db, table)
	if err != nil {
		return ExportResult{}, err
	}
	return ExportFrom(ctx, db.Table(table), *t, spec)
}

// ExportFrom is [Export] of a table that may be one over the network. There each row is
// held in memory as a whole, and if the connection breaks, the rest is read as of the
// time after that.
func ExportFrom(ctx context.Context, from Table, declared schema.Table, spec ExportSpec) (res ExportResult, err error) {
	began := time.Now()
	if err := usable(ctx, from); err != nil {
		return res, err
	}
	f, err := exportFormat(spec)
	if err != nil {
		return res, err
	}
	if spec.AllWide && (!f.json || spec.Wide != nil) {
		return res, specErrorf("wide", "* makes a member of each column, which files of jsonl can have; name the columns for csv and parquet")
	}
	if f.avro && (spec.AllWide || spec.Wide != nil) {
		return res, specErrorf("wide", "an Avro file has whole rows, for Bigtable's import; leave it out")
	}
	e := &exporter{table: from, schema: declared, spec: spec, format: f}
	if err := e.prepare(ctx); err != nil {
		return res, err
	}
	res, err = e.write(ctx)
	if key, ok := errors.AsType[*rawKeyError](err); ok {
		if !key.unwritten {
			return res, err
		}
		e.rows, e.cells, e.keyCode = 0, 0, e.code
		res, err = e.write(ctx)
	}
	res.Elapsed = time.Since(began)
	return res, err
}

func (e *exporter) write(ctx context.Context) (ExportResult, error) {
	out, err := openSink(ctx, e.spec, e.format)
	if err != nil {
		return ExportResult{}, err
	}
	if err = e.run(ctx, out); err == nil {
		err = out.finish()
	}
	if err != nil {
		if key, ok := errors.AsType[*rawKeyError](err); ok {
			key.unwritten = out.tmp != nil
		}
		return ExportResult{}, errors.Join(err, out.abandon())
	}
	return ExportResult{Rows: e.rows, Cells: e.cells, Bytes: out.bytes}, nil
}

// A rawKeyError reports a row key that CSV cannot hold without an encoding. The file's
// first line must name the encoding.
type rawKeyError struct {
	key       string
	unwritten bool // nothing is written yet, so the file can be started again
}

func (e *rawKeyError) Error() string {
	return "row key " + quote(e.key) + " is not UTF-8, which a CSV file says in its first line; export to a file by its name, or as jsonl or parquet"
}

func exportFormat(spec ExportSpec) (f format, err error) {
	name := spec.Path
	if spec.Format != "" && (name == "-" || !hasFormat(name)) {
		name += "." + spec.Format
	}
	if ext := strings.ToLower(filepath.Ext(name)); ext == ".avro" && (spec.Format == "" || spec.Format == "avro") {
		return format{avro: true}, nil
	}
	if spec.Path == "-" && spec.Format == "" {
		name = "-.jsonl"
	}
	if f, err = formatOf(name); err != nil {
		for _, ext := range []string{".gz", ".zst"} {
			if inner, ok := strings.CutSuffix(name, ext); ok && filepath.Ext(inner) == ".parquet" {
				return f, specErrorf("", "%s: a Parquet file is compressed inside; name it %s", spec.Path, filepath.Base(inner))
			}
		}
		return f, specErrorf("", "%s: what it is to hold cannot be told from its name; export writes .csv, .jsonl, .parquet and .avro, the first two also with .gz or .zst, and for others as= says which", spec.Path)
	}
	if f.tabs {
		return f, specErrorf("", "%s: export writes no TSV; name a .csv, or have the shell's scan write it: scan T into 'FILE.tsv'", spec.Path)
	}
	if said, _ := formatOf("x." + spec.Format); spec.Format != "" && (said.json != f.json || said.parquet != f.parquet) {
		return f, specErrorf("as", "%s is asked for, and the name %s says otherwise", spec.Format, spec.Path)
	}
	return f, nil
}

func hasFormat(path string) bool {
	_, err := formatOf(path)
	return err == nil
}
