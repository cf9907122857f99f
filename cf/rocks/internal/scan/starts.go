//go:build cgo && linux && !norocksdb

package scan

// #include "cursor.h"
import "C"

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// An iterator of RocksDB 7.8 loses an error: if it moves from one file of a level to
// the next and cannot read the beginning of the next file, the cells of that file and
// of all later files of the level are missing, without an error. A seek to that
// beginning returns the error. So before a scan returns cells, it seeks to the
// beginnings of the files that it passed (TestAFlippedByteIsNeverAWrongAnswer). That
// costs one seek for each file of 64 MiB, to a block that was just read.

// fileStarts are the beginnings of a family's files, sorted, without the first file of
// each level.
type fileStarts struct {
	version string // of the set of files
	checked time.Time
	starts  []fileStart
}

type fileStart struct {
	row string
	key []byte
}

// startsAge is how long a list of files is used without a check: newer files are not
// likely to be damaged yet.
const startsAge = time.Second

// fileStarts are the family's file starts, now or at most startsAge ago.
func (e *Engine) fileStarts(f *Family) []fileStart {
	have := f.starts.Load()
	if have != nil && time.Since(have.checked) < startsAge {
		return have.starts
	}
	version := e.db.GetPropertyCF("rocksdb.current-super-version-number", f.Handle)
	next := &fileStarts{version: version, checked: time.Now()}
	if have != nil && have.version == version {
		next.starts = have.starts
	} else {
		next.starts = e.listStarts(f)
	}
	f.starts.Store(next)
	return next.starts
}

func (e *Engine) listStarts(f *Family) (starts []fileStart) {
	meta := C.rocksdb_get_column_family_metadata_cf(e.c, f.c)
	defer C.rocksdb_column_family_metadata_destroy(meta)
	for i := range C.rocksdb_column_family_metadata_get_level_count(meta) {
		level := C.rocksdb_column_family_metadata_get_level_metadata(meta, i)
		if C.rocksdb_level_metadata_get_level(level) > 0 { // in level 0 each file gets its own iterator
			for j := range C.rocksdb_level_metadata_get_file_count(level) {
				if j > 0 {
					starts = append(starts, startOf(level, j))
				}
			}
		}
		C.rocksdb_level_metadata_destroy(level)
	}
	slices.SortFunc(starts, func(a, b fileStart) int { return strings.Compare(a.row, b.row) })
	return starts
}

func startOf(level *C.rocksdb_level_metadata_t, i C.size_t) fileStart {
	file := C.rocksdb_level_metadata_get_sst_file_metadata(level, i)
	defer C.rocksdb_sst_file_metadata_destroy(file)
	var n C.size_t
	key := C.rocksdb_sst_file_metadata_get_smallestkey(file, &n)
	defer C.rocksdb_free(unsafe.Pointer(key))
	start := fileStart{key: C.GoBytes(unsafe.Pointer(key), C.int(n))}
	row, _, _, err := cf.SplitCellKey(start.key)
	if err != nil { // the key of a range tombstone
		row = rowOfBound(start.key)
	}
	start.row = string(row)
	return start
}

// rowOfBound is the row key of a bound, or a key slightly before it.
func rowOfBound(key []byte) []byte {
	var row []byte
	for i := 1; i < len(key); i++ {
		if key[i] == 0 && (i+1 == len(key) || key[i+1] != 0xff) {
			break
		}
		row = append(row, key[i])
		if key[i] == 0 {
			i++
		}
	}
	return row
}

// crossings are the rows that a filler came through.
type crossings struct {
	engine  *Engine
	rows    []cf.Range // of the scan, or of the filler's part of it
	reverse bool
	limit   int
	sound   string // the row up to which the files have been checked; "" at first
}

func newCrossings(e *Engine, spec *cf.Scan) crossings {
	return crossings{engine: e, rows: spec.Rows, reverse: spec.Reverse, limit: spec.Limit}
}

// crossed seeks to the files that the filler came to since the last call. end says that
// the scan is at its end.
func (f *filler) crossed(end bool) error {
	c := &f.crossings
	if len(c.rows) == 0 || !end && f.at == "" {
		return nil
	}
	starts := c.engine.fileStarts(f.family)
	if len(starts) == 0 {
		return nil
	}
	lo, hi := c.interval(f.at, end && (c.limit == 0 || f.returned.Rows < int64(c.limit)))
	i, _ := slices.BinarySearchFunc(starts, lo, func(s fileStart, lo string) int { return strings.Compare(s.row, lo) })
	for ; i < len(starts) && (hi == "" || starts[i].row <= hi); i++ {
		if !cf.InRanges(c.rows, starts[i].row) {
			continue
		}
		if err := c.engine.readable(f.family, starts[i].key, f.room); err != nil {
			return err
		}
	}
	if !end {
		c.sound = strings.Clone(f.at) // the block may be used again
	}
	return nil
}

// interval is the rows, from lo to hi inclusive, that a filler passed since the last
// call when it is at a row, or at the end. A hi of "" is no bound.
func (c *crossings) interval(at string, end bool) (lo, hi string) {
	lo, hi = c.rows[0].Start, c.rows[len(c.rows)-1].End
	switch {
	case c.sound == "":
	case c.reverse:
		hi = c.sound
	default:
		lo = c.sound
	}
	switch {
	case end:
	case c.reverse:
		lo = at
	default:
		hi = at
	}
	return lo, hi
}

// readable seeks to a key, and returns the error of a file that cannot be read there. A
// room counts large blocks.
func (e *Engine) readable(f *Family, key []byte, r *ahead.Room) error {
	values := large(r, 0)
	msg := C.smolwc_readable(e.c, f.c, (*C.char)(unsafe.Pointer(unsafe.SliceData(key))), C.size_t(len(key)), &values)
	e.counted(values.read) // the block is gone
	err := native.TakeError(unsafe.Pointer(msg))
	if values.refused {
		err = refusal(r, &values)
	}
	if err != nil {
		if errors.Is(err, cf.ErrCorrupt) {
			f.starts.Store(nil)
		}
		return e.explain(f, err)
	}
	return nil
}

// CheckStarts seeks to the beginnings of all files of a family, and says what is wrong
// there.
func (e *Engine) CheckStarts(f *Family) error {
	for _, start := range e.fileStarts(f) {
		if err := e.readable(f, start.key, nil); err != nil {
			return err
		}
	}
	return nil
}
