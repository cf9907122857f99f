package transfer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/smolwc/smolwc/cells"
)

// A scanning is one pass over the file.
type scanning struct {
	title string
	warn  io.Writer // gets the bad lines that are tolerated; nil: nowhere
	all   bool      // go on to the end when there are too many bad lines, to count them
	// arena gives the slice that the cells of the next row are appended to, and
	// use takes the row, and the slice as it has become.
	arena func() []cells.Cell
	use   func(r row, arena []cells.Cell) error
}

// scan reads the file from its beginning. It counts bad lines and lines
// without cells in the result.
func (im *importer) scan(ctx context.Context, s scanning) error {
	bar := newBar(im.spec.Progress, s.title, im.size)
	defer bar.finish()
	src, err := openSource(im.spec.Path, im.plan.format, bar.add)
	if err != nil {
		return err
	}
	defer src.close()
	records, err := openRecords(im.plan.format, im.spec.Path, src, &im.plan.names)
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

// one reads one record and hands on its row.
func (im *importer) one(records recordReader, rec *record, keys *seenKeys, s scanning) error {
	if err := records.next(rec); err != nil {
		return err
	}
	r, arena, bad := im.plan.row(rec, s.arena())
	if bad != nil {
		return bad
	}
	if len(r.cells) == 0 {
		im.result.NoCells++
		return nil
	}
	if im.plan.cells != nil || !im.plan.sets {
		return s.use(r, arena) // each line is a cell of its own, or adds to one
	}
	if line, again := keys.add(r); again {
		return rec.wrong("makes the row key %s, which line %d made; the key needs one more field, or ts= a field that tells the lines apart", quote(r.key), line)
	}
	return s.use(r, arena)
}

// bad counts a bad record, and returns it when it is one too many.
func (im *importer) bad(e *LineError, s scanning) error {
	im.result.BadLines += int64(e.Lines)
	switch {
	case im.result.BadLines <= int64(im.spec.BadLines):
		if s.warn != nil {
			_, _ = fmt.Fprintf(s.warn, "%v; left out\n", e) // a lost warning is no reason to stop
		}
		return nil
	case !s.all:
		return e
	case im.tooBad == nil:
		im.tooBad = e
	}
	return nil
}

// seenKeys finds rows that would replace an earlier one. It keeps hashes of
// 128 bits, of random seed, in place of keys.
type seenKeys struct {
	seeds [2]maphash.Seed
	lines map[[2]uint64]int
	text  []byte
}

// maxSeenKeys bounds the memory of seenKeys.
const maxSeenKeys = 8 << 20

func newSeenKeys() *seenKeys {
	return &seenKeys{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, lines: map[[2]uint64]int{}}
}

// add notes a row, and returns the line that made the same one.
func (k *seenKeys) add(r row) (line int, again bool) {
	k.text = binary.BigEndian.AppendUint64(k.text[:0], uint64(r.cells[0].Timestamp))
	k.text = append(k.text, r.key...)
	hash := [2]uint64{maphash.Bytes(k.seeds[0], k.text), maphash.Bytes(k.seeds[1], k.text)}
	if line, again = k.lines[hash]; !again && len(k.lines) < maxSeenKeys {
		k.lines[hash] = r.line
	}
	return line, again
}
