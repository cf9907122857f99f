package changes

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/fields"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/write"
)

// A table with a change stream logs more than its puts, as notes (docs/format.md). A
// note begins with its kind. The note of a row precedes the row's changes, the note of
// a delete is at the delete's place among them, and the commit's note comes last.
const (
	noteCommit         byte = 'c' // timestamp, its distance from the least timestamp under way, position
	NoteRow            byte = 'r' // stream, row key: a user's changes follow
	NoteCollected      byte = 'g' // stream, row key: retention's changes follow
	noteDeleteFamily   byte = 'f' // family
	noteDeleteVersions byte = 'v' // since, until, length of the family, family, qualifier
)

// AppendRow begins the changes of a row.
func AppendRow(b *cf.Batch, kind byte, stream int64, key string) {
	var buf [32]byte
	b.Note(append(binary.AppendUvarint(append(buf[:0], kind), uint64(stream)), key...))
}

// AppendDelete notes the delete that comes next.
func AppendDelete(b *cf.Batch, t *catalog.Table, c *write.Change) {
	var buf [128]byte
	switch c.Kind {
	case write.DeleteVersionsChange:
		n := append(buf[:0], noteDeleteVersions)
		n = binary.AppendUvarint(n, uint64(c.Since))
		n = binary.AppendUvarint(n, uint64(c.Until))
		n = binary.AppendUvarint(n, uint64(len(c.Family)))
		b.Note(append(append(n, c.Family...), c.Qualifier...))
	case write.DeleteFamilyChange:
		b.Note(append(append(buf[:0], noteDeleteFamily), c.Family...))
	case write.DeleteRowChange:
		for _, f := range t.Families {
			b.Note(append(append(buf[:0], noteDeleteFamily), f.Name...))
		}
	}
}

// A commitNote says when a commit was made.
type commitNote struct {
	At cells.Timestamp
	// low: commits with timestamps less than low precede this one in the log.
	low cells.Timestamp
	// before: all commits up to this position have lesser timestamps.
	before cf.Position
}

func (n commitNote) append(b *cf.Batch) {
	var buf [32]byte
	note := binary.AppendUvarint(append(buf[:0], noteCommit), uint64(n.At))
	note = binary.AppendUvarint(note, uint64(n.At-n.low))
	b.Note(binary.AppendUvarint(note, uint64(n.before)))
}

var errNote = errors.New("a note in the log is damaged")

func parseCommitNote(note []byte) (n commitNote, err error) {
	in := fields.Reader{Rest: note[1:]}
	at, ahead, before := in.Uvarint(), in.Uvarint(), in.Uvarint()
	if in.Bad || len(in.Rest) > 0 || at > math.MaxInt64 || ahead > at {
		return n, errNote
	}
	return commitNote{cells.Timestamp(at), cells.Timestamp(at - ahead), cf.Position(before)}, nil
}

func parseRowNote(note []byte) (stream int64, key string, err error) {
	in := fields.Reader{Rest: note[1:]}
	id := in.Uvarint()
	if in.Bad || id > math.MaxInt64 || len(in.Rest) == 0 {
		return 0, "", errNote
	}
	return int64(id), string(in.Rest), nil
}

func parseDeleteNote(note []byte) (c write.Change, err error) {
	in := fields.Reader{Rest: note[1:]}
	if note[0] == noteDeleteFamily {
		return write.Change{Kind: write.DeleteFamilyChange, Family: string(in.Rest)}, nil
	}
	since, until := in.Uvarint(), in.Uvarint()
	family := in.Text()
	if in.Bad || since > math.MaxInt64 || until > math.MaxInt64 {
		return c, errNote
	}
	return write.Change{Kind: write.DeleteVersionsChange, Family: string(family), Qualifier: string(in.Rest),
		Since: cells.Timestamp(since), Until: cells.Timestamp(until)}, nil
}
