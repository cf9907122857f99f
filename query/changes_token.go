package query

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
)

var changesCRC = crc32.MakeTable(crc32.Castagnoli)

const changesTokenTail = 4 // bytes of the checksum

// A token of changes is URL-safe base64, without padding, of
//
//	version | kind 's' | database, 16 bytes | stream, 8 | ... | CRC-32C, 4 bytes
//
// with, in version 1, one part of the rows, and all commits behind a place:
//
//	position, 8 | rows, uvarint | watermark, 8
//	| length of the first row key, uvarint | first row key | end of the rows
//
// and in version 2 several parts at different places, or parts that have yet to
// reach the time that they are read from:
//
//	watermark, 8 | each part: position, 8 | rows, uvarint | since, 8
//	| length of the first row key, uvarint | first row key
//	| length of the end, uvarint | end of the rows
//
// where position is that before the next commit to read, and rows is how many of
// the stream's rows in it have been read. Integers of fixed size are big-endian.
const (
	changeTokenVersion = 1
	changeTokenParts   = 2
	changeTokenKind    = 's'
)

// A changePosition is a place between two rows' changes.
type changePosition struct {
	before cf.Position // the commit that begins behind it
	rows   int         // of that commit, how many rows of the stream have been read
}

func (p changePosition) covers(q changePosition) bool {
	return q.before < p.before || q.before == p.before && q.rows < p.rows
}

// A changePart is a range of rows and how far they have been read.
type changePart struct {
	rows      read.RowRange
	at        changePosition
	watermark cells.Timestamp
	since     cells.Timestamp // commits made before it are left out
}

// partsAt are the parts of the rows when a reading is at a place; parts at the same
// place as one are joined.
func (r *changeReader) partsAt(at changePosition, exact cells.Timestamp) (parts []changePart) {
	for _, p := range r.parts {
		if at.covers(p.at) {
			p.at = at
		}
		if exact > p.since { // there is nothing older behind the place
			p.since = 0
		}
		if n := len(parts); n > 0 && parts[n-1].at == p.at && parts[n-1].since == p.since {
			parts[n-1].rows.End = p.rows.End
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// token is the token of a reading at a place; no commit behind the place is older
// than exact.
func (r *changeReader) token(at changePosition, watermark, exact cells.Timestamp) string {
	parts := r.partsAt(at, exact)
	version := byte(changeTokenVersion)
	if len(parts) > 1 || parts[0].since > 0 {
		version = changeTokenParts
	}
	b := append([]byte{version, changeTokenKind}, r.from.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.stream))
	if version == changeTokenVersion {
		p := &parts[0]
		b = binary.BigEndian.AppendUint64(b, uint64(p.at.before))
		b = binary.AppendUvarint(b, uint64(p.at.rows))
		b = binary.BigEndian.AppendUint64(b, uint64(watermark))
		b = append(appendSized(b, p.rows.Start), p.rows.End...)
	} else {
		b = binary.BigEndian.AppendUint64(b, uint64(watermark))
		for i := range parts {
			p := &parts[i]
			b = binary.BigEndian.AppendUint64(b, uint64(p.at.before))
			b = binary.AppendUvarint(b, uint64(p.at.rows))
			b = binary.BigEndian.AppendUint64(b, uint64(p.since))
			b = appendSized(appendSized(b, p.rows.Start), p.rows.End)
		}
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, changesCRC))
	return base64.RawURLEncoding.EncodeToString(b)
}

func appendSized(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func damagedChanges(how string) error {
	return fault.Errorf(fault.InvalidArgument, "the token of changes is damaged: %s", how)
}

// parseToken is the inverse of token. A token of another database, or of a stream
// that has ended, gives the error for changes that are gone.
func (r *changeReader) parseToken(token string) (parts []changePart, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 2+changesTokenTail {
		return nil, damagedChanges("it is no token")
	}
	sum := binary.BigEndian.Uint32(b[len(b)-changesTokenTail:])
	b = b[:len(b)-changesTokenTail]
	switch {
	case crc32.Checksum(b, changesCRC) != sum:
		return nil, damagedChanges("its checksum is wrong")
	case b[1] != changeTokenKind:
		return nil, fault.Errorf(fault.InvalidArgument, "the token is one of pages and not of changes")
	case b[0] != changeTokenVersion && b[0] != changeTokenParts:
		return nil, fault.Errorf(fault.InvalidArgument, "the token of changes is of version %d; this program knows versions %d and %d", b[0], changeTokenVersion, changeTokenParts)
	}
	in := fields{rest: b[2:]}
	id := in.bytes(16)
	stream := in.uint64()
	var ok bool
	if b[0] == changeTokenVersion {
		parts, ok = parseWholeToken(&in)
	} else {
		parts, ok = parsePartsToken(&in)
	}
	switch {
	case in.bad || !ok:
		return nil, damagedChanges("a field is out of range")
	case string(id) != string(r.from.ID[:]):
		return nil, fault.Errorf(fault.FailedPrecondition, "%w: the token is of another database", errChangesGone)
	case int64(stream) != r.stream:
		return nil, fault.Errorf(fault.FailedPrecondition, "%w: the token is of a change stream that has ended", errChangesGone)
	}
	return parts, nil
}

func parseWholeToken(in *fields) ([]changePart, bool) {
	p := changePart{at: in.position(), watermark: cells.Timestamp(in.uint64())}
	p.rows.Start = string(in.bytes(in.uvarint()))
	p.rows.End = string(in.rest)
	return []changePart{p}, p.valid()
}

func parsePartsToken(in *fields) (parts []changePart, ok bool) {
	watermark := cells.Timestamp(in.uint64())
	for len(in.rest) > 0 && !in.bad {
		p := changePart{at: in.position(), watermark: watermark, since: cells.Timestamp(in.uint64())}
		p.rows.Start = string(in.bytes(in.uvarint()))
		p.rows.End = string(in.bytes(in.uvarint()))
		if !p.valid() {
			return nil, false
		}
		parts = append(parts, p)
	}
	return parts, len(parts) > 0
}

func (f *fields) position() changePosition {
	before, rows := f.uint64(), f.uvarint()
	if rows > 1<<31 {
		f.bad = true
	}
	return changePosition{cf.Position(before), int(rows)}
}

func (p *changePart) valid() bool {
	return p.watermark.Check() == nil && p.since.Check() == nil && (p.rows.End == "" || p.rows.Start < p.rows.End)
}

// parseTokens are the parts of several tokens, ascending; together they are the
// rows.
func (r *changeReader) parseTokens(tokens []string) (parts []changePart, err error) {
	for _, token := range tokens {
		of, err := r.parseToken(token)
		if err != nil {
			return nil, err
		}
		parts = append(parts, of...)
	}
	slices.SortFunc(parts, func(a, b changePart) int { return strings.Compare(a.rows.Start, b.rows.Start) })
	from := r.spec.rows.Start
	for i, p := range parts {
		if p.rows.Start != from || i > 0 && from == "" {
			return nil, fault.Errorf(fault.InvalidArgument, "the tokens are of other rows than those to read: there is one of those from %q, where one of those from %q is wanted", fault.Shorten(p.rows.Start), fault.Shorten(from))
		}
		from = p.rows.End
	}
	if from != r.spec.rows.End {
		return nil, fault.Errorf(fault.InvalidArgument, "the tokens are of other rows than those to read: they end before %q, not before %q", fault.Shorten(from), fault.Shorten(r.spec.rows.End))
	}
	return parts, nil
}
