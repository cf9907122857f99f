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
// With [Spec.Batch] rows are written in batches while they are read. A regular file is then
// read twice: if the first pass finds too many bad lines, nothing is written. A pipe can be
// read only once. If there are too many bad lines, the engine fails, or the context ends,
// the batches already written stay, and the error gives the number of rows in them.
package transfer

import (
	"cmp"
	"context"
	"errors"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

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
			res, err := look(ctx, spec)
			res.Proposal = form.Proposal
			return res, err
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
