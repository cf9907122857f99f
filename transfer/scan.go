package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/smolwc/smolwc/internal/bar"
)

// A scanning is one pass over the file.
type scanning struct {
	title string
	warn  io.Writer // receives the bad lines within the limit; nil: discarded
	all   bool      // beyond the limit of bad lines, continue to the end to count them
	use   func(r row) error
}

// scan reads the file from its beginning. It counts bad lines, and lines without cells,
// in the result.
func (im *importer) scan(ctx context.Context, s scanning) error {
	progress := bar.OfBytes(im.spec.Progress, s.title, im.size)
	defer progress.Finish()
	src, err := openSource(ctx, im.spec.Path, im.spec.In, im.plan.format, progress.Add)
	if err != nil {
		return err
	}
	defer src.close()
	records, err := openRecords(im.plan.format, im.spec.Dialect, im.spec.Path, src, &im.plan.names)
	if err != nil {
		if im.plan.cells != nil {
			err = im.plan.cells.explain(err)
		}
		return err
	}
	names := im.plan.names.names
	rec := &record{file: im.spec.Path, names: names, fields: make([]field, len(names))}
	keys := newSeenKeys()
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := im.one(records, rec, keys, s)
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, ok := err.(*LineError); ok {
			err = im.bad(bad, s)
		}
		if err != nil {
			return err
		}
	}
	if err := records.close(); err != nil {
		return err
	}
	if im.tooBad != nil {
		return im.tooBad
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
		return bad
	}
	if line, again := keys.add(r); again {
		return rec.wrong(repeats, quote(r.key), line)
	}
	return s.use(r)
}

// bad counts a bad record, and returns it if it is the first beyond the limit.
func (im *importer) bad(e *LineError, s scanning) error {
	im.result.BadLines += int64(e.Lines)
	switch {
	case im.result.BadLines <= int64(im.spec.BadLines):
		im.warn(s.warn, e)
		return nil
	case !s.all:
		return e
	case im.tooBad == nil:
		im.tooBad = e
	}
	return nil
}

func (im *importer) warn(to io.Writer, e *LineError) {
	if to != nil {
		_, _ = fmt.Fprintf(to, "%v; left out\n", e) // a lost warning does not stop the import
	}
}
