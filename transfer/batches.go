package transfer

import (
	"cmp"
	"context"
	"io"
)

// maxBatchBytes ends a batch early, so that large rows neither fill the memory nor
// exceed the engine's limit for one write.
const maxBatchBytes = 8 << 20

// A batchReader cuts a file into batches.
type batchReader struct {
	im     *importer
	size   int // maximum rows in a batch
	sorted bool
	warn   io.Writer // see scanning
	all    bool      // beyond the limit of bad lines, count them and send no rows
	out    chan []row

	batch []row
	bytes int
}

// each reads the file on a separate goroutine, to its end or to the first bad line
// beyond the limit, and calls use with the batches.
func (b *batchReader) each(ctx context.Context, use func(context.Context, []row) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readErr error // written before out is closed
	go func() {
		defer close(b.out)
		readErr = b.read(ctx)
	}()
	var useErr error
	for batch := range b.out {
		if useErr != nil {
			continue // until the reader stops
		}
		if useErr = use(ctx, batch); useErr != nil {
			cancel()
		}
	}
	return cmp.Or(useErr, readErr)
}

func (b *batchReader) read(ctx context.Context) error {
	err := b.im.scan(ctx, scanning{title: "importing", warn: b.warn, all: b.all, use: func(r row) error { return b.add(ctx, r) }})
	if err != nil {
		return err
	}
	return b.send(ctx)
}

func (b *batchReader) add(ctx context.Context, r row) error {
	if b.im.tooBad != nil {
		return nil // counting only
	}
	if b.batch == nil {
		b.batch = make([]row, 0, min(b.size, 1<<16))
	}
	if n := len(b.batch); n > 0 && b.im.plan.cells != nil && b.batch[n-1].key == r.key {
		b.batch[n-1].cells = append(b.batch[n-1].cells, r.cells...)
	} else {
		b.batch = append(b.batch, r)
	}
	if b.bytes += r.size(); len(b.batch) < b.size && b.bytes < maxBatchBytes {
		return nil
	}
	return b.send(ctx)
}

// send sends the batch. Rows of a batch are sorted by key if sorted is set: the engine
// writes adjacent keys faster, and few files are in key order.
func (b *batchReader) send(ctx context.Context) error {
	if len(b.batch) == 0 {
		return nil
	}
	if b.sorted {
		sortRows(b.batch)
		b.batch = b.im.plan.joined(b.batch)
	}
	select {
	case b.out <- b.batch:
		b.batch, b.bytes = nil, 0
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
