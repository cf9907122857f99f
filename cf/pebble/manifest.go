package pebble

import (
	"fmt"

	"github.com/smolwc/smolwc/internal/fields"
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
	r := fieldReader{fields.Reader{Rest: record}}
	for len(r.Rest) > 0 && !r.Bad {
		e.field(&r)
	}
	e.unknown = e.unknown || r.Bad
}

func (e *edits) field(r *fieldReader) {
	switch tag := r.Uvarint(); tag {
	case editComparator:
		r.Text()
	case editMinLog:
		e.minLog = r.Uvarint()
	case editNextFile, editLastSequence, editPrevLog:
		r.Uvarint()
	case editPointer:
		r.Uvarint()
		r.Text()
	case editDeletedFile:
		r.Uvarint()
		delete(e.tables, r.Uvarint())
	case editNewBacking:
		number := r.Uvarint()
		e.backings[number] = int64(r.Uvarint())
	case editRemovedBacking:
		delete(e.backings, r.Uvarint())
	case editNewBlob:
		r.Uvarint()
		number := r.Uvarint()
		e.blobs[number] = int64(r.Uvarint())
		r.Uvarint()
		r.Uvarint()
	case editDeletedBlob:
		r.Uvarint()
		delete(e.blobs, r.Uvarint())
	case editNewFile, editNewFile2, editNewFile3, editNewFile4, editNewFile5:
		if number, size, own := r.table(tag); own {
			e.tables[number] = size
		}
	default:
		r.Bad = true
	}
}

// table reads a table; own says whether it is a file of its own.
func (r *fieldReader) table(tag uint64) (number uint64, size int64, own bool) {
	r.Uvarint()
	number = r.Uvarint()
	if tag == editNewFile3 {
		r.Uvarint()
	}
	size, own = int64(r.Uvarint()), true
	keys := true
	if tag == editNewFile5 {
		if len(r.Rest) == 0 {
			r.Bad = true
			return 0, 0, false
		}
		keys = r.Rest[0]&1 != 0
		r.Rest = r.Rest[1:]
	}
	for range 2 {
		if keys {
			r.Text()
		}
	}
	if tag == editNewFile5 {
		r.Text()
		r.Text()
	}
	if tag != editNewFile {
		r.Uvarint()
		r.Uvarint()
	}
	for tag >= editNewFile4 && !r.Bad {
		switch custom := r.Uvarint(); {
		case custom == tableEnd:
			return number, size, own
		case custom == tableVirtual:
			r.Uvarint()
			own = false
		case custom == tableBlobs:
			r.Uvarint()
			for range r.Uvarint() {
				r.Uvarint()
				r.Uvarint()
				if r.Bad {
					return 0, 0, false
				}
			}
		case custom < tableUnsafe, custom == tablePrefix, custom == tableSuffix:
			r.Text()
		default:
			r.Bad = true
		}
	}
	return number, size, own
}
