package plan

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
)

// A page's token is URL-safe base64, without padding, of
//
//	version 1 | kind | fingerprint, 8 bytes | left, uvarint | position | CRC-32C, 4 bytes
//
// where left is how many rows of the read's Limit, or cells of CellsPerRow,
// remain, 0 without a limit; the position is the last row key, or for columns the
// length of the family's name as a uvarint, the name, and the last qualifier.
// Integers of fixed size are big-endian; the checksum is of all bytes before.
const tokenVersion = 1

// The kinds of pages in a token.
const (
	PageOfRows    byte = 'r'
	PageOfColumns byte = 'c'
)

const (
	tokenHead = 2 + 8
	tokenTail = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Position is the end of a page: exclusive for the next. The zero Position is before
// the first page.
type Position struct {
	Key               string // of the last row, for rows
	Family, Qualifier string // of the last column, for columns
	Left              int    // of Limit or CellsPerRow; 0 is no limit
}

// Token is the position as text, for a read of this kind and fingerprint.
func (p Position) Token(kind byte, fingerprint uint64) string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion, kind}, fingerprint)
	b = binary.AppendUvarint(b, uint64(p.Left))
	if kind == PageOfRows {
		b = append(b, p.Key...)
	} else {
		b = binary.AppendUvarint(b, uint64(len(p.Family)))
		b = append(append(b, p.Family...), p.Qualifier...)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseToken is the inverse of token, for a read of this kind and fingerprint.
func ParseToken(token string, kind byte, fingerprint uint64) (p Position, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < tokenHead+tokenTail {
		return p, damaged("it is no token")
	}
	sum := binary.BigEndian.Uint32(b[len(b)-tokenTail:])
	b = b[:len(b)-tokenTail]
	switch {
	case crc32.Checksum(b, castagnoli) != sum:
		return p, damaged("its checksum is wrong")
	case b[0] != tokenVersion:
		return p, fault.Errorf(fault.InvalidArgument, "page token is of version %d; this program knows version %d", b[0], tokenVersion)
	case b[1] != kind || binary.BigEndian.Uint64(b[2:]) != fingerprint:
		return p, fault.Errorf(fault.InvalidArgument, "page token belongs to a read of another table or with other options")
	}
	return parsePosition(b[tokenHead:], kind)
}

func parsePosition(b []byte, kind byte) (p Position, err error) {
	left, n := binary.Uvarint(b)
	if n <= 0 || left > 1<<62 {
		return p, damaged("its count is out of range")
	}
	p.Left, b = int(left), b[n:]
	if kind == PageOfRows {
		if p.Key = string(b); catalog.CheckRowKey(p.Key) != nil {
			return p, damaged("it names no valid row key")
		}
		return p, nil
	}
	family, n := binary.Uvarint(b)
	if n <= 0 || family > uint64(len(b)-n) {
		return p, damaged("its column is cut off")
	}
	p.Family, p.Qualifier = string(b[n:n+int(family)]), string(b[n+int(family):])
	if p.Family == "" || len(p.Qualifier) > cells.MaxQualifier {
		return p, damaged("it names no valid column")
	}
	return p, nil
}

func damaged(how string) error {
	return fault.Errorf(fault.InvalidArgument, "page token is damaged: %s", how)
}

// Fingerprint distinguishes reads: it covers the table and every option that affects
// the rows of the result or their order.
func (r *Spec) Fingerprint(table string, kind byte) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %c rows %q after %q sample %d %t", table, kind, r.Ranges, r.After, r.sample, r.TakesNone())
	for _, c := range r.Columns {
		fmt.Fprintf(h, " column %q %d %q %q %q", c.Family, c.Kind, c.Qualifier, c.Start, c.End)
	}
	for i := range r.Where {
		fingerprintOf(h, &r.Where[i])
	}
	if r.Filter != nil {
		fmt.Fprintf(h, " filter %q", r.Filter.String())
	}
	if r.WideIntegers {
		fmt.Fprint(h, " of eight bytes")
	}
	fmt.Fprintf(h, " time %d %d versions %d cells %d limit %d offset %d reverse %t keys %t",
		r.Since, r.Until, r.Versions, r.CellsPerRow, r.Limit, r.Offset, r.Reverse, r.KeysOnly)
	return h.Sum64()
}

func fingerprintOf(h io.Writer, c *read.Condition) {
	fmt.Fprintf(h, " where %q %q %d %d", c.Family, c.Qualifier, c.Kind, c.Op)
	if c.Value.Type().Valid() {
		fmt.Fprintf(h, " %x", cells.AppendValue(nil, c.Value))
	}
	if c.On != read.OnValue {
		fmt.Fprintf(h, " on %d %d", c.On, c.Part)
	}
	for _, v := range c.Values {
		fmt.Fprintf(h, " or %x", cells.AppendValue(nil, v))
	}
	switch c.Kind {
	case read.Matches:
		fmt.Fprintf(h, " like %q", c.Pattern)
	case read.ComparesColumns:
		fmt.Fprintf(h, " with %q %q", c.Other.Family, c.Other.Qualifier)
	}
	for i := range c.Terms {
		fmt.Fprint(h, " (")
		fingerprintOf(h, &c.Terms[i])
		fmt.Fprint(h, ")")
	}
}
