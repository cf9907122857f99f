package transfer

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/smolwc/smolwc/internal/bar"
)

// scan reads the file from its beginning. It counts bad lines, and lines without cells,
// in the result.
func (im *importer) scan(ctx context.Context, s scanning) error {
	progress := bar.OfBytes(im.spec.Progress, s.title, im.size)
	defer progress.Finish()
	keys := newSeenKeys()
	for i, path := range im.spec.paths() {
		if err := im.scanFile(ctx, s, i*fileLines, path, keys, progress.Add); err != nil {
			return err
		}
	}
	if im.tooBad != nil {
		return im.tooBad
	}
	return nil
}

// scanFile reads one of the files; base is the number of the line before it.
func (im *importer) scanFile(ctx context.Context, s scanning, base int, path string, keys *seenKeys, onRead func(int)) error {
	f := im.plan.format.of(path, im.spec.In)
	src, err := openSource(ctx, path, im.spec.In, f, onRead)
	if err != nil {
		return err
	}
	defer src.close()
	records, err := openRecords(f, im.spec.Dialect, path, src, &im.plan.names)
	if err != nil {
		if im.plan.cells != nil {
			err = im.plan.cells.explain(err)
		}
		return err
	}
	if c, ok := records.(*csvReader); ok {
		if err := im.written(c, path, base == 0); err != nil {
			return err
		}
	}
	names := im.plan.names.names
	rec := &record{file: path, base: base, names: names, fields: make([]field, len(names))}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := im.one(records, rec, keys, s)
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, ok := err.(*LineError); ok {
			err = im.wrong(bad, records, s)
		}
		if err != nil {
			return err
		}
	}
	return records.close()
}

// written notes how a file is written.
func (im *importer) written(c *csvReader, path string, first bool) error {
	if first {
		im.result.Dialect = c.dialect
	}
	for i := range im.plan.columns {
		im.plan.columns[i].comma = c.dialect.Decimal == ","
	}
	if im.spec.all == nil {
		return nil
	}
	for _, name := range c.header.names {
		if !slices.Contains(im.spec.all, name) {
			return specErrorf("columns", "%s: field %s is not in %s, whose fields are taken; name the columns", path, quote(name), im.spec.paths()[0])
		}
	}
	return nil
}

// one reads one record and passes its row on.
func (im *importer) one(records recordReader, rec *record, keys *seenKeys, s scanning) error {
	if err := records.next(rec); err != nil {
		return err
	}
	r, bad := im.plan.row(rec)
	if bad != nil {
		return bad
	}
	im.result.NoValue += int64(r.left)
	if len(r.cells) == 0 {
		im.result.NoCells++
		return nil
	}
	if !im.plan.once() {
		return s.use(r)
	}
	if bad := im.skip[r.line]; bad != nil {
		if err := im.keep(records); err != nil {
			return err
		}
		return bad
	}
	if line, again := keys.add(r); again {
		return rec.wrong(repeats, quote(r.key), im.spec.placed(line))
	}
	return s.use(r)
}

func openRecords(f format, d Dialect, file string, src *source, names *fieldNames) (recordReader, error) {
	switch {
	case f.parquet:
		return newParquetReader(file, src.file, src.counter.onRead, names)
	case f.json:
		return newJSONReader(file, src.text, names)
	}
	return newCSVReader(file, src.text, f, d, names)
}
