package query

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// A token of changes is URL-safe base64, without padding, of
//
//	version 1 | kind 's' | database, 16 bytes | stream, 8 | position, 8 | rows, uvarint
//	| watermark, 8 | length of the first row key, uvarint | first row key
//	| end of the rows | CRC-32C, 4 bytes
//
// where position is that before the commit to go on with, and rows says how many of
// the stream's rows in it have been read. Integers of fixed size are big-endian.
const (
	changeTokenVersion = 1
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
	rows      RowRange
	at        changePosition
	watermark cells.Timestamp
}

func (r *changeReader) token(at changePosition, watermark cells.Timestamp) string {
	b := append([]byte{changeTokenVersion, changeTokenKind}, r.db.uuid[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.stream))
	b = binary.BigEndian.AppendUint64(b, uint64(at.before))
	b = binary.AppendUvarint(b, uint64(at.rows))
	b = binary.BigEndian.AppendUint64(b, uint64(watermark))
	b = binary.AppendUvarint(b, uint64(len(r.spec.rows.Start)))
	b = append(append(b, r.spec.rows.Start...), r.spec.rows.End...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

func damagedChanges(how string) error {
	return faultf(InvalidArgument, "the token of changes is damaged: %s", how)
}

// parseChangeToken is the inverse of token. What is of another database or of a
// stream that has ended is gone.
func (r *changeReader) parseToken(token string) (p changePart, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 2+tokenTail {
		return p, damagedChanges("it is no token")
	}
	sum := binary.BigEndian.Uint32(b[len(b)-tokenTail:])
	b = b[:len(b)-tokenTail]
	switch {
	case crc32.Checksum(b, castagnoli) != sum:
		return p, damagedChanges("its checksum is wrong")
	case b[1] != changeTokenKind:
		return p, faultf(InvalidArgument, "the token is one of pages and not of changes")
	case b[0] != changeTokenVersion:
		return p, faultf(InvalidArgument, "the token of changes is of version %d; this program knows version %d", b[0], changeTokenVersion)
	}
	in := fields{rest: b[2:]}
	id := in.bytes(16)
	stream := in.uint64()
	p.at.before = cf.Position(in.uint64())
	rows := in.uvarint()
	p.watermark = cells.Timestamp(in.uint64())
	p.rows.Start = string(in.bytes(in.uvarint()))
	p.rows.End = string(in.rest)
	p.at.rows = int(rows)
	switch {
	case in.bad || rows > 1<<31 || p.watermark.Check() != nil || p.rows.End != "" && p.rows.Start >= p.rows.End:
		return p, damagedChanges("a field is out of range")
	case string(id) != string(r.db.uuid[:]):
		return p, faultf(FailedPrecondition, "%w: the token is of another database", ErrChangesGone)
	case int64(stream) != r.stream:
		return p, faultf(FailedPrecondition, "%w: the token is of a change stream that has ended", ErrChangesGone)
	}
	return p, nil
}

// parseTokens are the parts of tokens that together are the rows, ascending.
func (r *changeReader) parseTokens(tokens []string) (parts []changePart, err error) {
	for _, token := range tokens {
		p, err := r.parseToken(token)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b changePart) int { return strings.Compare(a.rows.Start, b.rows.Start) })
	from := r.spec.rows.Start
	for i, p := range parts {
		if p.rows.Start != from || i > 0 && from == "" {
			return nil, faultf(InvalidArgument, "the tokens are of other rows than those to read: there is one of those from %q, where one of those from %q is wanted", shorten(p.rows.Start), shorten(from))
		}
		from = p.rows.End
	}
	if from != r.spec.rows.End {
		return nil, faultf(InvalidArgument, "the tokens are of other rows than those to read: they end before %q, not before %q", shorten(from), shorten(r.spec.rows.End))
	}
	return parts, nil
}
