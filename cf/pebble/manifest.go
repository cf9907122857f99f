package pebble

import (
	"fmt"
)

// An edits follows the records of a manifest: which files make up a database, and which of
// its logs count. The layout is Pebble 2's (internal/manifest/version_edit.go).
type edits struct {
	tables, backings, blobs map[uint64]int64 // bytes by the number of the file
	minLog                  uint64           // earlier logs are in table files
	unknown                 bool             // there is a record of a newer Pebble
}

func newEdits() *edits {
	return &edits{tables: map[uint64]int64{}, backings: map[uint64]int64{}, blobs: map[uint64]int64{}}
}

// files are the bytes of table files and blob files by name, nil if they are not known.
func (e *edits) files() map[string]int64 {
	if e.unknown {
		return nil
	}
	files := map[string]int64{}
	for number, size := range e.blobs {
		files[fmt.Sprintf("%06d.blob", number)] = size
	}
	for _, tables := range []map[uint64]int64{e.tables, e.backings} {
		for number, size := range tables {
			files[fmt.Sprintf("%06d.sst", number)] = size
		}
	}
	return files
}

// The tags of the fields of a record and of a table.
const (
	editComparator, editMinLog, editNextFile, editLastSequence, editPointer, editDeletedFile = 1, 2, 3, 4, 5, 6
	editNewFile, editPrevLog                                                                 = 7, 9
	editNewFile2, editNewFile3, editNewFile4, editNewFile5                                   = 100, 102, 103, 104
	editNewBacking, editRemovedBacking, editNewBlob, editDeletedBlob                         = 105, 106, 107, 108

	tableEnd, tableUnsafe, tableVirtual, tableBlobs = 1, 64, 66, 69
	tablePrefix, tableSuffix                        = 67, 68
)

// note takes a record.
func (e *edits) note(record []byte) {
	r := fieldReader{rest: record}
	for len(r.rest) > 0 && !r.bad {
		e.field(&r)
	}
	e.unknown = e.unknown || r.bad
}

func (e *edits) field(r *fieldReader) {
	switch tag := r.number(); tag {
	case editComparator:
		r.text()
	case editMinLog:
		e.minLog = r.number()
	case editNextFile, editLastSequence, editPrevLog:
		r.number()
	case editPointer:
		r.number()
		r.text()
	case editDeletedFile:
		r.number()
		delete(e.tables, r.number())
	case editNewBacking:
		number := r.number()
		e.backings[number] = int64(r.number())
	case editRemovedBacking:
		delete(e.backings, r.number())
	case editNewBlob:
		r.number()
		number := r.number()
		e.blobs[number] = int64(r.number())
		r.number()
		r.number()
	case editDeletedBlob:
		r.number()
		delete(e.blobs, r.number())
	case editNewFile, editNewFile2, editNewFile3, editNewFile4, editNewFile5:
		if number, size, own := r.table(tag); own {
			e.tables[number] = size
		}
	default:
		r.bad = true
	}
}

// table reads a table; own says whether it is a file of its own.
func (r *fieldReader) table(tag uint64) (number uint64, size int64, own bool) {
	r.number()
	number = r.number()
	if tag == editNewFile3 {
		r.number()
	}
	size, own = int64(r.number()), true
	keys := true
	if tag == editNewFile5 {
		if len(r.rest) == 0 {
			r.bad = true
			return 0, 0, false
		}
		keys = r.rest[0]&1 != 0
		r.rest = r.rest[1:]
	}
	for range 2 {
		if keys {
			r.text()
		}
	}
	if tag == editNewFile5 {
		r.text()
		r.text()
	}
	if tag != editNewFile {
		r.number()
		r.number()
	}
	for tag >= editNewFile4 && !r.bad {
		switch custom := r.number(); {
		case custom == tableEnd:
			return number, size, own
		case custom == tableVirtual:
			r.number()
			own = false
		case custom == tableBlobs:
			r.number()
			for range r.number() {
				r.number()
				r.number()
				if r.bad {
					return 0, 0, false
				}
			}
		case custom < tableUnsafe, custom == tablePrefix, custom == tableSuffix:
			r.text()
		default:
			r.bad = true
		}
	}
	return number, size, own
}
