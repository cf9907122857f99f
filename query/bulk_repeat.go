package query

import (
	"encoding/binary"
	"errors"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf/bulk"
)

// A Record is the place in a file that a mutation comes from.
type Record struct {
	Line  int // the record's first line, from 1
	Lines int // how many lines it has
}

// A Repeat is a record that has the row key and the time of an earlier one.
type Repeat struct {
	Row          string
	First, Again Record
}

// ErrRepeated matches, with errors.Is, the error for a bulk load with records that
// repeat others. Its kind is [KindInvalidArgument].
var ErrRepeated = errors.New("records of the load repeat others")

// identity is the part of a record that no other record of its row may have.
type identity struct {
	at   [8]byte
	note []byte
}

func (id *identity) set(at cells.Timestamp, r Record) {
	binary.BigEndian.PutUint64(id.at[:], uint64(at))
	id.note = binary.AppendUvarint(binary.AppendUvarint(id.note[:0], uint64(r.Line)), uint64(r.Lines))
}

func recordOf(note []byte) Record {
	line, n := binary.Uvarint(note)
	lines, _ := binary.Uvarint(note[n:])
	return Record{int(line), int(lines)}
}

// onRepeat has a sorter call fn.
func onRepeat(s *bulk.Sorter, fn func(Repeat)) {
	s.OnRepeat(func(row string, first, again []byte) { fn(Repeat{row, recordOf(first), recordOf(again)}) })
}
