package recovery

import (
	"encoding/binary"
	"maps"
	"slices"
)

// A familyEdits collects the families that the records of a manifest create and drop,
// and the first log that is still needed. A record is a version edit: fields that begin
// with their tags. All fields that are read here, and the fields before them, are
// numbers or strings (db/version_edit.h).
type familyEdits struct {
	names map[uint64]string // of all families, by their number
	gone  map[string]bool   // dropped, and not created again
	// minLog is the number of the first log that may have changes that are not in table
	// files. RocksDB does not read earlier logs.
	minLog uint64
}

// The tags of a version edit. From editIgnorable on, a tag begins a string that may be
// skipped.
const (
	editComparator    = 1
	editLogNumber     = 2
	editNextFile      = 3
	editLastSequence  = 4
	editPrevLog       = 9
	editMinLog        = 10
	editFamily        = 200 // a number: the family that the edit is for
	editFamilyAdd     = 201 // a string: its name
	editFamilyDrop    = 202
	editMaxFamily     = 203
	editInAtomicGroup = 300
	editIgnorable     = 1 << 13
)

// note applies a record. It ignores a record with other fields, which does not change
// families.
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

// droppedNames are the names of the families that were dropped and not created again,
// sorted.
func (f *familyEdits) droppedNames() []string { return slices.Sorted(maps.Keys(f.gone)) }
