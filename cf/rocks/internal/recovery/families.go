package recovery

import (
	"encoding/binary"
	"maps"
	"slices"
)

// A familyEdits collects from the records of a manifest which families were created
// and dropped, and which logs of writes are still needed. A record, a version edit, is fields led by their tags; those that are
// needed, and all that stand before them in such an edit, are numbers and strings
// (db/version_edit.h).
type familyEdits struct {
	names map[uint64]string // of all families, by their number
	gone  map[string]bool   // those that were dropped last
	// minLog is the number of the first log that may have a change that is in no table
	// file. RocksDB does not read those before it.
	minLog uint64
}

// The tags of a version edit. Tags from editIgnorable on lead a string that may be
// passed over.
const (
	editComparator    = 1
	editLogNumber     = 2
	editNextFile      = 3
	editLastSequence  = 4
	editPrevLog       = 9
	editMinLog        = 10
	editFamily        = 200 // a number: of the family that the edit is for
	editFamilyAdd     = 201 // a string: its name
	editFamilyDrop    = 202
	editMaxFamily     = 203
	editInAtomicGroup = 300
	editIgnorable     = 1 << 13
)

// note takes a record. One with other fields changes no families.
func (f *familyEdits) note(record []byte) {
	var id uint64
	var name *string
	drop := false
	for len(record) > 0 {
		tag, n := binary.Uvarint(record)
		if n <= 0 {
			return
		}
		record = record[n:]
		switch {
		case tag == editFamilyDrop:
			drop = true
			continue
		case tag == editComparator, tag == editFamilyAdd, tag >= editIgnorable:
			size, n := binary.Uvarint(record)
			if n <= 0 || size > uint64(len(record)-n) {
				return
			}
			text := string(record[n : n+int(size)])
			record = record[n+int(size):]
			if tag == editFamilyAdd {
				name = &text
			}
		case slices.Contains([]uint64{editLogNumber, editNextFile, editLastSequence, editPrevLog, editMinLog, editFamily, editMaxFamily, editInAtomicGroup}, tag):
			number, n := binary.Uvarint(record)
			if n <= 0 {
				return
			}
			record = record[n:]
			switch tag {
			case editFamily:
				id = number
			case editMinLog:
				f.minLog = max(f.minLog, number)
			}
		default:
			return
		}
	}
	f.apply(id, name, drop)
}

func (f *familyEdits) apply(id uint64, added *string, drop bool) {
	if f.names == nil {
		f.names, f.gone = map[uint64]string{}, map[string]bool{}
	}
	switch {
	case added != nil:
		f.names[id] = *added
		delete(f.gone, *added)
	case drop:
		if name, ok := f.names[id]; ok {
			f.gone[name] = true
		}
	}
}

// droppedNames are the names of those families, sorted.
func (f *familyEdits) droppedNames() []string { return slices.Sorted(maps.Keys(f.gone)) }
