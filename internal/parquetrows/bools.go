package parquetrows

import (
	"encoding/binary"
	"fmt"
	"io"

	meta "github.com/parquet-go/parquet-go/format"
)

// plainBools rewrites a decompressed page of booleans in runs (the encoding RLE) as one
// in the encoding PLAIN, of a column that is optional or not. The library mistakes the
// byte of a run for eight values.
func plainBools(h *meta.PageHeader, page []byte, optional bool) ([]byte, error) {
	var levels, values int
	var encoding *meta.Encoding
	switch {
	case h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		levels = int(v.RepetitionLevelsByteLength) + int(v.DefinitionLevelsByteLength)
		values, encoding = int(v.NumValues)-int(v.NumNulls), &v.Encoding
	case h.DataPageHeader.Valid:
		v := &h.DataPageHeader.V
		values, encoding = int(v.NumValues), &v.Encoding
		if optional && len(page) >= 4 {
			levels = 4 + int(binary.LittleEndian.Uint32(page))
		}
	}
	if encoding == nil || *encoding != meta.RLE {
		return page, nil
	}
	if levels < 0 || levels > len(page) {
		return nil, fmt.Errorf("its levels have %d bytes, and it has %d", levels, len(page))
	}
	*encoding = meta.Plain
	bits, err := unpackBools(page[levels:], values)
	return append(page[:levels:levels], bits...), err
}

// unpackBools reads n booleans, or fewer of a page in which some are null: a length
// in four bytes, then runs. A run begins with a number: twice the count of a value
// that is the next byte, or one more than twice the count of the bytes that follow
// and have eight values each.
func unpackBools(src []byte, n int) ([]byte, error) {
	if len(src) < 4 || uint64(binary.LittleEndian.Uint32(src)) > uint64(len(src)-4) {
		return nil, io.ErrUnexpectedEOF
	}
	src = src[4 : 4+binary.LittleEndian.Uint32(src)]
	bits, at := make([]byte, (n+7)/8), 0
	add := func(b byte) {
		if at < n {
			bits[at/8] |= b & 1 << (at % 8)
			at++
		}
	}
	for len(src) > 0 && at < n {
		header, width := binary.Uvarint(src)
		if width <= 0 {
			return nil, io.ErrUnexpectedEOF
		}
		src = src[width:]
		count, take := header>>1, uint64(1)
		if header&1 == 1 {
			take = count
		}
		if count > 0 && take > uint64(len(src)) {
			return nil, io.ErrUnexpectedEOF
		}
		switch {
		case count == 0:
		case header&1 == 1:
			for _, b := range src[:take] {
				for i := range 8 {
					add(b >> i)
				}
			}
			src = src[take:]
		default:
			for range min(count, uint64(n-at)) {
				add(src[0])
			}
			src = src[1:]
		}
	}
	return bits, nil
}
