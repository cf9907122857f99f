package changes

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/internal/fields"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const tokenTail = 4 // bytes of the checksum

// A token of changes is URL-safe base64, without padding, of
//
//	version | kind 's' | database, 16 bytes | stream, 8 | ... | CRC-32C, 4 bytes
//
// with, in version 1, one part of the rows, and all commits after a place:
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
//
// Versions 3 and 4 are versions 1 and 2 of a database that once had a standby. After the
// stream follows the epoch of the last change that was read:
//
//	number, uvarint | sum of its identity, 8
//
// A database that never had one, and every smolwc before standbys' epochs were in tokens,
// makes versions 1 and 2: they are valid as they are.
const (
	tokenVersion  = 1
	tokenParts    = 2
	tokenOfEpoch  = 2 // is added to the version
	tokenVersions = tokenParts + tokenOfEpoch
	tokenKind     = 's'
)

// A position is a place between two rows' changes.
type position struct {
	before cf.Position // the commit that begins after it
	rows   int         // of that commit, how many rows of the stream have been read
}

func (p position) covers(q position) bool {
	return q.before < p.before || q.before == p.before && q.rows < p.rows
}

// last is the position up to which something was read.
func (p position) last() uint64 {
	if p.rows > 0 {
		return uint64(p.before) + 1 // of the first operation of the commit
	}
	return uint64(p.before)
}

// lastOf is the position up to which one of the parts was read.
func lastOf(parts []part) (last uint64) {
	for i := range parts {
		last = max(last, parts[i].at.last())
	}
	return last
}

// A part is a range of rows and how far they have been read.
type part struct {
	rows      read.RowRange
	at        position
	watermark cells.Timestamp
	since     cells.Timestamp // commits made before it are left out
}

// partsAt are the parts of the rows when the reader is at a place; parts at the same
// place as one are joined.
func (r *Reader) partsAt(at position, exact cells.Timestamp) (parts []part) {
	for _, p := range r.parts {
		if at.covers(p.at) {
			p.at = at
		}
		if exact > p.since { // there is nothing older after the place
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

// token makes the token of a reader that is at this place. No commit after the place is
// older than exact.
func (r *Reader) token(at position, watermark, exact cells.Timestamp, h *history.History) string {
	parts := r.partsAt(at, exact)
	version := byte(tokenVersion)
	if len(parts) > 1 || parts[0].since > 0 {
		version = tokenParts
	}
	b := append([]byte{version, tokenKind}, r.from.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.stream))
	if h.ID != "" {
		b[0] += tokenOfEpoch
		of := h.Of(lastOf(parts))
		b = binary.AppendUvarint(b, uint64(of.Number))
		b = binary.BigEndian.AppendUint64(b, of.Sum)
	}
	if version == tokenVersion {
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
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

func appendSized(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func damaged(how string) error {
	return fault.Errorf(fault.InvalidArgument, "the token of changes is damaged: %s", how)
}

// parseToken is the inverse of token. A token of another database, of a stream that is
// over, or of a change that a promotion lost, gives the error for changes that are gone.
func (r *Reader) parseToken(token string) (parts []part, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 2+tokenTail {
		return nil, damaged("it is no token")
	}
	sum := binary.BigEndian.Uint32(b[len(b)-tokenTail:])
	b = b[:len(b)-tokenTail]
	switch {
	case crc32.Checksum(b, castagnoli) != sum:
		return nil, damaged("its checksum is wrong")
	case b[1] != tokenKind:
		return nil, fault.Errorf(fault.InvalidArgument, "the token is for pages of rows, not for changes")
	case b[0] < tokenVersion || b[0] > tokenVersions:
		return nil, fault.Errorf(fault.InvalidArgument, "the token of changes is of version %d; this program knows versions %d to %d", b[0], tokenVersion, tokenVersions)
	}
	version, ofEpoch := b[0], b[0] > tokenOfEpoch
	in := fields.Reader{Rest: b[2:]}
	id := in.Take(16)
	stream := in.Uint64()
	var of history.Mark
	if ofEpoch {
		version -= tokenOfEpoch
		of = history.Mark{Number: int64(in.Uvarint()), Sum: in.Uint64()}
	}
	var ok bool
	if version == tokenVersion {
		parts, ok = parseWholeToken(&in)
	} else {
		parts, ok = parsePartsToken(&in)
	}
	switch {
	case in.Bad || !ok:
		return nil, damaged("a field is out of range")
	case string(id) != string(r.from.ID[:]):
		return nil, fault.Errorf(fault.FailedPrecondition, "%w: the token is of another database", ErrGone)
	case int64(stream) != r.stream:
		return nil, fault.Errorf(fault.FailedPrecondition, "%w: the token is of a change stream that has ended", ErrGone)
	case ofEpoch:
		return parts, unlost(r.history.Check(of, lastOf(parts)))
	}
	return parts, nil
}

// unlost turns the error for a change that the database does not have into this package's
// error.
func unlost(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, history.ErrLater):
		return fault.Errorf(fault.Unavailable, "the token of changes: %w", err)
	}
	return fault.Errorf(fault.FailedPrecondition, "%w: %w; read the table anew, and go on with the changes since the time before that", ErrGone, err)
}

func parseWholeToken(in *fields.Reader) ([]part, bool) {
	p := part{at: positionOf(in), watermark: cells.Timestamp(in.Uint64())}
	p.rows.Start = string(in.Text())
	p.rows.End = string(in.Rest)
	return []part{p}, p.valid()
}

func parsePartsToken(in *fields.Reader) (parts []part, ok bool) {
	watermark := cells.Timestamp(in.Uint64())
	for len(in.Rest) > 0 && !in.Bad {
		p := part{at: positionOf(in), watermark: watermark, since: cells.Timestamp(in.Uint64())}
		p.rows.Start = string(in.Text())
		p.rows.End = string(in.Text())
		if !p.valid() {
			return nil, false
		}
		parts = append(parts, p)
	}
	return parts, len(parts) > 0
}

func positionOf(in *fields.Reader) position {
	before, rows := in.Uint64(), in.Uvarint()
	if rows > 1<<31 {
		in.Bad = true
	}
	return position{cf.Position(before), int(rows)}
}

func (p *part) valid() bool {
	return p.watermark.Check() == nil && p.since.Check() == nil && (p.rows.End == "" || p.rows.Start < p.rows.End)
}

// parseTokens are the parts of several tokens, ascending; together they are the
// rows.
func (r *Reader) parseTokens(tokens []string) (parts []part, err error) {
	for _, token := range tokens {
		of, err := r.parseToken(token)
		if err != nil {
			return nil, err
		}
		parts = append(parts, of...)
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.rows.Start, b.rows.Start) })
	from := r.spec.Rows.Start
	for i, p := range parts {
		if p.rows.Start != from || i > 0 && from == "" {
			return nil, fault.Errorf(fault.InvalidArgument, "the tokens do not fit the rows to read: there is a token for the rows from %q, where the rows from %q need one", excerpt.Of(p.rows.Start), excerpt.Of(from))
		}
		from = p.rows.End
	}
	if from != r.spec.Rows.End {
		return nil, fault.Errorf(fault.InvalidArgument, "the tokens do not fit the rows to read: they end before %q, not before %q", excerpt.Of(from), excerpt.Of(r.spec.Rows.End))
	}
	return parts, nil
}
