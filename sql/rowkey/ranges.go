package rowkey

import (
	"encoding/binary"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// Compared are ranges with every key that begins with base and in which the comparison op of field
// i with a value holds; op is one of = < <= > >=. Base holds the fields before. Ok is false when
// the value says nothing about the keys.
func (s *Schema) Compared(base string, i int, op string, v any) (rs []cf.Range, ok bool) {
	c := s.fields[i].code
	raw, ok := c.encode(v)
	if !ok {
		return nil, false
	}
	within := []cf.Range{cf.Prefix(base)}
	if c.number == bigEndian {
		return cf.IntersectRanges(within, s.halves(base, op, raw)), true
	}
	rs = cf.IntersectRanges(within, []cf.Range{s.span(base, i, op, raw)})
	if s.layout == Ordered && admitsEmpty(op, raw) {
		rs = cf.MergeRanges(append(rs, cf.Single(trimmed(base))))
	}
	return rs, true
}

// admitsEmpty reports whether the comparison holds for an empty field.
func admitsEmpty(op, raw string) bool {
	return op[0] == '<' && raw != "" || strings.Contains(op, "=") && raw == ""
}

// trimmed is the key of the fields of base when all fields after them are empty: empty
// fields at the end are not written.
func trimmed(base string) string {
	key := strings.TrimSuffix(base, separator)
	for strings.HasSuffix(key, separator+emptyField) {
		key = strings.TrimSuffix(key, separator+emptyField)
	}
	if key == "" {
		return emptyField
	}
	return key
}

// span covers every key for which the comparison of the field with the bytes of a value
// holds.
func (s *Schema) span(base string, i int, op, raw string) (r cf.Range) {
	from := base + s.written(raw)
	switch op {
	case "=":
		if s.layout == Delimited && i < len(s.fields)-1 {
			from += s.delimiter
		}
		r = cf.Range{Start: from, End: s.end(base, i, raw)}
	case "<":
		r.End = s.below(base, i, raw, from)
	case "<=":
		r.End = s.below(base, i, raw, s.end(base, i, raw))
	case ">=":
		r.Start = from
	default:
		r.Start = from
		if s.layout == Ordered || s.fields[i].code.length(raw) > 0 {
			r.Start = s.end(base, i, raw)
		}
	}
	return r
}

// end is after all keys whose field equals these bytes; it is empty when no key is
// after them.
func (s *Schema) end(base string, i int, raw string) string {
	from := base + s.written(raw)
	switch {
	case s.layout == Ordered:
		return from + "\x00\x02"
	case s.fields[i].code.length(raw) > 0:
		return cf.Prefix(from).End
	case s.layout == Delimited && i < len(s.fields)-1:
		return cf.Prefix(from + s.delimiter).End
	}
	return from + "\x00"
}

// below is the end of the keys whose field is less. A delimiter after a shorter text may
// be greater than the next byte of a longer text.
func (s *Schema) below(base string, i int, raw, end string) string {
	if s.layout != Delimited || i == len(s.fields)-1 || s.fields[i].code.length(raw) > 0 {
		return end
	}
	for n := range len(raw) {
		if raw[n] <= s.delimiter[0] {
			return cf.Prefix(base + raw[:n] + s.delimiter[:1]).End
		}
	}
	return end
}

// halves are the keys in which the comparison of a number in big-endian bytes holds:
// negative numbers come after the others.
func (s *Schema) halves(base, op, raw string) []cf.Range {
	from := base + s.written(raw)
	r := cf.Range{Start: from, End: s.endOfNumber(from)}
	switch op {
	case "<":
		r = cf.Range{End: from}
	case "<=":
		r.Start = ""
	case ">":
		r = cf.Range{Start: r.End}
	case ">=":
		r.End = ""
	}
	middle := base + s.written(string(binary.BigEndian.AppendUint64(nil, 1<<63)))
	positive, negative := cf.Range{Start: base, End: middle}, cf.Range{Start: middle, End: cf.Prefix(base).End}
	own, other := positive, negative
	if raw[0] >= 0x80 {
		own, other = negative, positive
	}
	rs := cf.IntersectRanges([]cf.Range{own}, []cf.Range{r})
	if op[0] == '<' && raw[0] < 0x80 || op[0] == '>' && raw[0] >= 0x80 {
		rs = append(rs, other)
	}
	return cf.MergeRanges(rs)
}

func (s *Schema) endOfNumber(from string) string {
	if s.layout == Ordered {
		return from + "\x00\x02"
	}
	return cf.Prefix(from).End
}

// Beginning are ranges that have every key that begins with base and whose field i begins
// with a text.
func (s *Schema) Beginning(base, text string) []cf.Range {
	if s.layout == Ordered {
		if text == "" {
			return cf.MergeRanges([]cf.Range{cf.Prefix(base), cf.Single(trimmed(base))})
		}
		text = escape(text)
	}
	return []cf.Range{cf.Prefix(base + text)}
}
