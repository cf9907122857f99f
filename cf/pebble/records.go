package pebble

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/internal/fields"
)

// The first bytes of log data, which Pebble writes to its log only. A shift is at the
// beginning of a batch.
const (
	logNote  = 0 // then a note of a change stream
	logShift = 1 // then the position of the batch less the number that Pebble gives it
	logOwn   = 2 // the batch is a standby's own, and not part of the history
	logLoad  = 3 // then the names of the files of a load
	logTime  = 4 // then when the batch was written, in microseconds since 1970, 8 bytes, big-endian
)

// A record is a batch in the log. Its position is the number of its last change plus a
// shift, which is stored with it unless it is 0: a standby and its primary number
// differently once either of them loses numbers, as in a kill.
type record struct {
	first, last cf.Position
	count       uint64
	ops         []byte // without the shift
	own         bool   // it is not one of the history, or changes nothing
}

// recordOf takes a record apart. Of one that is cut off only the ops are wrong.
func recordOf(data []byte) (r record, err error) {
	head, err := wal.ParseHead(data)
	if err != nil {
		return r, err
	}
	r.count, r.ops, r.own = head.Count, data[wal.RepHeader:], head.Count == 0
	shift := int64(0)
	for range 2 {
		f := fieldReader{fields.Reader{Rest: r.ops}}
		if len(f.Rest) == 0 {
			break
		}
		kind, key, _ := f.op()
		switch kind {
		case engine.InternalKeyKindIngestSST, engine.InternalKeyKindExcise: // Pebble's own, with numbers of files
			r.own = true
		case engine.InternalKeyKindLogData:
			if f.Bad || len(key) == 0 {
				break
			}
			if key[0] == logOwn {
				r.own = true
			}
			if key[0] == logShift {
				var n int
				if shift, n = binary.Varint(key[1:]); n <= 0 {
					return r, fmt.Errorf("%w: record %d of the log has the shift %x", cf.ErrCorrupt, head.First, key[1:])
				}
				r.ops = f.Rest
				continue
			}
		}
		break
	}
	r.first = cf.Position(int64(head.First) + shift)
	r.last = r.first + cf.Position(r.count) - 1
	return r, nil
}

// shipped is the record as it is in all logs of a history.
func (r *record) shipped(after cf.Position) *cf.LogRecord {
	return &cf.LogRecord{After: after, Last: r.last, Data: appendRecord(make([]byte, 0, wal.RepHeader+len(r.ops)), uint64(r.first), r.count, 0, r.ops)}
}

// appendRecord appends a record with a shift.
func appendRecord(dst []byte, first, count uint64, shift int64, ops []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, first)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(count))
	if shift != 0 {
		note := shiftNote(shift)
		dst = append(dst, byte(engine.InternalKeyKindLogData), byte(len(note)))
		dst = append(dst, note...)
	}
	return append(dst, ops...)
}

func shiftNote(shift int64) []byte { return binary.AppendVarint([]byte{logShift}, shift) }

func timeNote(micros int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{logTime}, uint64(micros))
}

// One of a load's files contains a token, an entry that becomes visible with the cells. The
// commit that removes the token is the note about the load in the log: nothing comes
// between the two. A token that an open finds is of a process that was killed there.
type load struct {
	id    string
	Files []string `json:"files"` // their names
}

func loadOf(id string, text []byte) (load, error) {
	l := load{id: id}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("%w: load %s: %w", cf.ErrCorrupt, id, err)
	}
	for _, name := range l.Files {
		if name != filepath.Base(name) || !isTable(name) {
			return l, fmt.Errorf("%w: load %s has a file %q", cf.ErrCorrupt, id, name)
		}
	}
	return l, nil
}
