package transfer

import (
	"bufio"
	"context"
	"iter"
	"runtime"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/bar"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// An exporter is one running export: one goroutine reads, several encode the cells, and
// one writes the results in the order of reading.
type exporter struct {
	table  Table
	schema schema.Table
	spec   ExportSpec
	format format
	wide   []wideColumn
	code   code // of values of type bytes, in the wide form
	// keyCode is the encoding of row keys in a wide CSV file.
	keyCode code
	rows    int64
	cells   int64
}

// prepare checks the columns of the wide form and finds their types.
func (e *exporter) prepare(ctx context.Context) error {
	if err := e.chooseCode(); err != nil {
		return err
	}
	seen := map[string]bool{rowField: true, rowField + suffixes[e.code]: true}
	for _, m := range e.spec.Wide {
		family, ok := e.schema.Family(m.Family)
		if !ok {
			return specErrorf("wide", "table %s has no family %s", e.schema.Name, quote(m.Family))
		}
		if name := m.columnName(); !utf8.ValidString(name) {
			return specErrorf("wide", "the field of a column is called %s, which is not UTF-8; name it otherwise, as in %s:…=other", quote(name), m.Family)
		}
		declared := family.Type
		if family.Aggregate != schema.NoAggregate {
			declared = cells.TypeI64
		}
		if m.Type != cells.TypeAny && declared != cells.TypeAny && m.Type != declared {
			return specErrorf("wide", "%s:%s is to be %s, but family %s is %s", m.Family, m.Qualifier, m.Type, m.Family, declared)
		}
		typ := m.Type
		if typ == cells.TypeAny {
			typ = declared
		}
		if typ == cells.TypeAny {
			var err error
			if typ, err = e.findType(ctx, m); err != nil {
				return err
			}
		}
		c := wideColumn{Mapping: m, typ: typ}
		if typ == cells.TypeBytes {
			c.code = e.code
		}
		if seen[c.name()] {
			return specErrorf("wide", "two fields would be called %s; name one otherwise, as in %s:%s=other", quote(c.name()), m.Family, m.Qualifier)
		}
		seen[c.name()] = true
		e.wide = append(e.wide, c)
	}
	return nil
}

// chooseCode determines how bytes are written as text.
func (e *exporter) chooseCode() error {
	asText := e.byRow() && !e.format.parquet
	said, known := codes[e.spec.Bytes]
	switch {
	case !known:
		return specErrorf("bytes", "%s is not hex or base64", quote(e.spec.Bytes))
	case e.spec.Bytes != "" && !asText:
		return specErrorf("bytes", "it is for lines of rows in csv and jsonl, with wide=; other files keep bytes in one way")
	case !asText:
		return nil
	}
	if e.code = said; e.spec.Bytes == "" && e.format.json {
		e.code = base64Code
	}
	if e.schema.KeyFormat == schema.TupleKeys {
		e.keyCode = e.code
	}
	return nil
}

// byRow reports whether each line is a row.
func (e *exporter) byRow() bool { return e.spec.Wide != nil || e.spec.AllWide }

// findType returns the type of the first cell of a column, or string if the column is
// empty.
func (e *exporter) findType(ctx context.Context, m Mapping) (cells.Type, error) {
	opts := append(append([]read.Option(nil), e.spec.Options...), read.Column(m.Family, m.Qualifier), read.Versions(1), read.Limit(1))
	for row, err := range e.table.ReadRows(ctx, opts...) {
		if err != nil {
			return cells.TypeAny, err
		}
		for c := range row.Cells() {
			return c.Value.Type(), nil
		}
	}
	return cells.TypeString, nil
}

func (e *exporter) encoder() encoder {
	switch {
	case e.format.avro:
		return &avroRows{}
	case e.format.parquet && e.wide != nil:
		return newParquetWide(e.wide)
	case e.format.parquet:
		return newParquetCells()
	case e.spec.AllWide:
		return &textRows{code: e.code}
	case e.wide != nil:
		return &textWide{columns: e.wide, json: e.format.json, code: e.code, keyCode: e.keyCode}
	}
	return &textCells{json: e.format.json}
}

func (e *exporter) run(ctx context.Context, out *fileSink) error {
	w := bufio.NewWriterSize(out.w, 1<<16)
	enc := e.encoder()
	if err := enc.begin(w); err != nil {
		return fileError(e.spec.Path, err)
	}
	progress := bar.OfCells(e.spec.Progress, "exporting")
	defer progress.Finish()
	workers := runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	todo, ordered := make(chan *chunk), make(chan *chunk, 2*workers)
	g.Go(func() error {
		defer close(todo)
		defer close(ordered)
		return e.read(ctx, func(c *chunk) error {
			for _, to := range []chan *chunk{ordered, todo} {
				select {
				case to <- c:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range workers {
		g.Go(func() error {
			for c := range todo {
				c.out, c.err = enc.encode(c)
				close(c.done)
			}
			return nil
		})
	}
	g.Go(func() error {
		for c := range ordered {
			select {
			case <-c.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if c.err != nil {
				return c.err
			}
			if err := enc.write(c.out); err != nil {
				return fileError(e.spec.Path, err)
			}
			progress.Add(len(c.cells))
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if err := enc.end(); err != nil {
		return fileError(e.spec.Path, err)
	}
	if err := w.Flush(); err != nil {
		return fileError(e.spec.Path, err)
	}
	return nil
}

// read scans the table and sends chunks. In the wide form it never splits a row.
func (e *exporter) read(ctx context.Context, send func(*chunk) error) error {
	opts := e.spec.Options
	if e.byRow() {
		opts = append([]read.Option(nil), opts...)
		for _, c := range e.wide {
			opts = append(opts, read.Column(c.Family, c.Qualifier))
		}
		opts = append(opts, read.Versions(1))
	}
	c, last := newChunk(), ""
	var before cells.Cell
	for cell, err := range scanCells(ctx, e.table, opts) {
		if err != nil {
			return err
		}
		newRow := cell.Key != last
		if e.format.avro && !newRow && sameMillis(&before, &cell.Cell) {
			continue
		}
		before = cell.Cell
		if newRow {
			e.rows++
			last = cell.Key
		}
		if (newRow || !e.byRow()) && len(c.cells) > 0 && (len(c.cells) >= chunkCells || c.size >= chunkBytes) {
			if err := send(c); err != nil {
				return err
			}
			c = newChunk()
		}
		c.keys, c.cells = append(c.keys, cell.Key), append(c.cells, cell.Cell)
		c.size += len(cell.Qualifier) + cell.Value.EncodedLen()
		e.cells++
	}
	if len(c.cells) == 0 {
		return nil
	}
	return send(c)
}

// scanCells reads the cells of a table, a large row's one by one if the table can.
func scanCells(ctx context.Context, t Table, opts []read.Option) iter.Seq2[query.RowCell, error] {
	if local, ok := t.(*query.Table); ok {
		return local.ScanCells(ctx, opts...)
	}
	return func(yield func(query.RowCell, error) bool) {
		for row, err := range t.ReadRows(ctx, opts...) {
			if err != nil {
				yield(query.RowCell{}, err)
				return
			}
			for c := range row.Cells() {
				if !yield(query.RowCell{Key: row.Key(), Cell: c}, nil) {
					return
				}
			}
		}
	}
}
