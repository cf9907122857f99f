package parquetrows

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	meta "github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

// encoded are values of a type in an encoding, by parquet-go.
func encoded(e encoding.Encoding, kind meta.Type, values []value) (data []byte, err error) {
	switch kind {
	case meta.Boolean:
		packed := make([]byte, (len(values)+7)/8)
		for i, v := range values {
			packed[i/8] |= byte(v.bits << (i % 8))
		}
		return e.EncodeBoolean(nil, packed)
	case meta.Int32:
		return e.EncodeInt32(nil, numbers[int32](values))
	case meta.Int64:
		return e.EncodeInt64(nil, numbers[int64](values))
	case meta.Float, meta.Double:
		var all []byte
		for _, v := range values {
			all = binary.LittleEndian.AppendUint64(all, v.bits)
		}
		if kind == meta.Double {
			return e.EncodeFixedLenByteArray(nil, all, 8) // the same bytes
		}
		return e.EncodeInt32(nil, numbers[int32](values))
	case meta.FixedLenByteArray:
		var all []byte
		for _, v := range values {
			all = append(all, v.raw...)
		}
		return e.EncodeFixedLenByteArray(nil, all, fixedLength)
	}
	var all []byte
	offsets := []uint32{0}
	for _, v := range values {
		all = append(all, v.raw...)
		offsets = append(offsets, uint32(len(all)))
	}
	return e.EncodeByteArray(nil, all, offsets)
}

func numbers[T int32 | int64](values []value) (all []T) {
	for _, v := range values {
		all = append(all, T(v.bits))
	}
	return all
}

const fixedLength = 5

var forms = []struct {
	encoding encoding.Encoding
	kinds    []meta.Type
}{
	{&plain.Encoding{}, []meta.Type{meta.Boolean, meta.Int32, meta.Int64, meta.Float, meta.Double, meta.ByteArray, meta.FixedLenByteArray}},
	{&rle.Encoding{BitWidth: 1}, []meta.Type{meta.Boolean}},
	{&delta.BinaryPackedEncoding{}, []meta.Type{meta.Int32, meta.Int64}},
	{&delta.LengthByteArrayEncoding{}, []meta.Type{meta.ByteArray}},
	{&delta.ByteArrayEncoding{}, []meta.Type{meta.ByteArray, meta.FixedLenByteArray}},
	{&bytestreamsplit.Encoding{}, []meta.Type{meta.Int32, meta.Int64, meta.Float, meta.Double, meta.FixedLenByteArray}},
}

// aValue draws a value of a type; many are alike.
func aValue(t *rapid.T, kind meta.Type) value {
	few := rapid.Bool().Draw(t, "few")
	switch kind {
	case meta.Boolean:
		return value{bits: rapid.Uint64Range(0, 1).Draw(t, "bool")}
	case meta.Int32, meta.Float:
		if few {
			return value{bits: rapid.Uint64Range(0, 3).Draw(t, "n")}
		}
		return value{bits: uint64(rapid.Uint32().Draw(t, "n"))}
	case meta.Int64, meta.Double:
		if few {
			return value{bits: rapid.Uint64Range(0, 3).Draw(t, "n")}
		}
		return value{bits: rapid.Uint64().Draw(t, "n")}
	case meta.FixedLenByteArray:
		return value{raw: rapid.SliceOfN(rapid.ByteRange(0, 2), fixedLength, fixedLength).Draw(t, "fixed")}
	}
	return value{raw: rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 9).Draw(t, "raw")}
}

// TestShortPagesAreRefused: in every encoding and type a page has all its values, and
// fewer are an error: a page with less data, or that claims one more, never gives a value
// that it does not have.
func TestShortPagesAreRefused(t *testing.T) {
	for _, form := range forms {
		for _, kind := range form.kinds {
			t.Run(fmt.Sprint(form.encoding, "/", kind), rapid.MakeCheck(func(t *rapid.T) {
				l := &leaf{SchemaElement: &meta.SchemaElement{Type: thrift.New(kind), TypeLength: thrift.New[int32](fixedLength)}}
				var want []value
				for range rapid.OneOf(rapid.IntRange(1, 10), rapid.IntRange(1, 300)).Draw(t, "values") {
					want = append(want, aValue(t, kind))
				}
				data, err := encoded(form.encoding, kind, want)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := decode(l, form.encoding.Encoding(), data, len(want), nil); err != nil || !same(kind, got, want) {
					t.Fatalf("%x\nread %v, %v\nwant %v", data, got, err, want)
				}
				more := len(want) + 1
				if kind == meta.Boolean { // eight share a byte
					more = (len(want)+7)/8*8 + 1
				}
				if form.encoding.Encoding() != meta.RLE || kind != meta.Boolean { // its runs are longer
					if got, err := decode(l, form.encoding.Encoding(), data, more, nil); err == nil {
						t.Fatalf("%x\nas %d values: %v", data, more, got)
					}
				}
				cut := data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")]
				got, err := decode(l, form.encoding.Encoding(), cut, len(want), nil)
				if !same(kind, got, want[:len(got)]) || err == nil && len(got) < len(want) {
					t.Fatalf("%x\ncut to %d: read %v, %v\nwant %v", data, len(cut), got, err, want)
				}
			}))
		}
	}
}

// decode reads n values, or those before the first mistake.
func decode(l *leaf, encoding meta.Encoding, data []byte, n int, dictionary []value) (all []value, err error) {
	d, err := l.decoderOf(encoding, data, n, dictionary)
	for range n {
		var v value
		if err == nil {
			v, err = d.next()
		}
		if err != nil {
			return all, err
		}
		all = append(all, value{v.bits, slices.Clone(v.raw)})
	}
	return all, nil
}

func same(kind meta.Type, a, b []value) bool {
	return slices.EqualFunc(a, b, func(a, b value) bool {
		if kind == meta.Int32 {
			return uint32(a.bits) == uint32(b.bits)
		}
		return a.bits == b.bits && bytes.Equal(a.raw, b.raw)
	})
}

// TestDictionaryIndexes: an index beyond the dictionary is an error, and so are fewer than
// the page claims.
func TestDictionaryIndexes(t *testing.T) {
	l := &leaf{SchemaElement: &meta.SchemaElement{Type: thrift.New(meta.Int32)}}
	dictionary := []value{{bits: 7}, {bits: 8}, {bits: 9}}
	data, err := (&rle.DictionaryEncoding{}).EncodeInt32(nil, []int32{0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	read := func(dictionary []value, data []byte, n int) (all []uint64, err error) {
		values, err := decode(l, meta.RLEDictionary, data, n, dictionary)
		for _, v := range values {
			all = append(all, v.bits)
		}
		return all, err
	}
	if all, err := read(dictionary, data, 11); err != nil || fmt.Sprint(all) != "[7 8 9 9 9 9 9 9 9 9 8]" {
		t.Errorf("read %d, %v", all, err)
	}
	for name, fails := range map[string]func() ([]uint64, error){
		"short":         func() ([]uint64, error) { return read(dictionary, data[:len(data)-2], 11) },
		"empty":         func() ([]uint64, error) { return read(dictionary, nil, 1) },
		"no dictionary": func() ([]uint64, error) { return read(nil, data, 11) },
		"beyond":        func() ([]uint64, error) { return read(dictionary[:2], data, 11) },
		"wide":          func() ([]uint64, error) { return read(dictionary, []byte{33, 2, 0, 0, 0, 0, 0}, 1) },
	} {
		if all, err := fails(); err == nil {
			t.Errorf("%s: read %d", name, all)
		}
	}
}

// A testPage is a page of a chunk in a test: its levels in runs, and 32-bit numbers.
type testPage struct {
	count    int
	rep, def []byte
	numbers  []int32
}

// appendTo appends the page in a version.
func (p *testPage) appendTo(t *testing.T, chunk []byte, version int, l *leaf) []byte {
	t.Helper()
	data, err := (&plain.Encoding{}).EncodeInt32(nil, p.numbers)
	if err != nil {
		t.Fatal(err)
	}
	h := pageHeader{Type: meta.DataPage}
	if version == 1 {
		for _, levels := range []struct {
			highest int
			data    []byte
		}{{l.maxDef, p.def}, {l.maxRep, p.rep}} {
			if levels.highest > 0 {
				data = slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(levels.data))), levels.data, data)
			}
		}
		h.V1 = thrift.New(dataPageHeader{NumValues: int32(p.count), Encoding: meta.Plain, Def: meta.RLE, Rep: meta.RLE})
	} else {
		data = slices.Concat(p.rep, p.def, data)
		h.Type = meta.DataPageV2
		h.V2 = thrift.New(dataPageHeaderV2{NumValues: int32(p.count), Encoding: meta.Plain, DefSize: int32(len(p.def)), RepSize: int32(len(p.rep))})
	}
	h.CompressedSize, h.UncompressedSize = int32(len(data)), int32(len(data))
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(chunk, header, data)
}

// run is a run of one level.
func run(n, level int) []byte { return append(binary.AppendUvarint(nil, uint64(n)<<1), byte(level)) }

// TestShortPagesOfRows: a page with fewer levels or fewer values than it claims is refused
// in both versions, in columns that are required, optional, or in a list, also after a page
// that was longer; so is a row that begins inside of a list.
func TestShortPagesOfRows(t *testing.T) {
	first := func(maxRep, maxDef int) testPage {
		p := testPage{count: 4, numbers: []int32{1, 2, 3, 4}}
		if maxRep > 0 {
			p.rep = run(4, 0)
		}
		if maxDef > 0 {
			p.def = run(4, maxDef)
		}
		return p
	}
	for _, test := range []struct {
		name           string
		maxRep, maxDef int
		page           testPage
		rows           int
		ok             bool
	}{
		{"required", 0, 0, testPage{count: 3, numbers: []int32{5, 6, 7}}, 7, true},
		{"required, fewer values", 0, 0, testPage{count: 3, numbers: []int32{5, 6}}, 7, false},
		{"required, fewer rows", 0, 0, testPage{count: 3, numbers: []int32{5, 6, 7}}, 8, false},
		{"required, more rows", 0, 0, testPage{count: 3, numbers: []int32{5, 6, 7}}, 6, false},
		{"optional", 0, 1, testPage{count: 3, def: slices.Concat(run(1, 0), run(2, 1)), numbers: []int32{5, 6}}, 7, true},
		{"optional, fewer values", 0, 1, testPage{count: 3, def: slices.Concat(run(1, 0), run(2, 1)), numbers: []int32{5}}, 7, false},
		{"optional, fewer levels", 0, 1, testPage{count: 3, def: run(2, 1), numbers: []int32{5, 6, 7}}, 7, false},
		{"optional, no levels", 0, 1, testPage{count: 3, numbers: []int32{5, 6, 7}}, 7, false},
		{"in a group, a level too high", 0, 2, testPage{count: 3, def: run(3, 3), numbers: []int32{5, 6, 7}}, 7, false},
		{"in a list", 1, 2, testPage{count: 3, rep: slices.Concat(run(1, 0), run(2, 1)), def: run(3, 2), numbers: []int32{5, 6, 7}}, 5, true},
		{"in a list over two pages", 1, 2, testPage{count: 3, rep: run(3, 1), def: run(3, 2), numbers: []int32{5, 6, 7}}, 4, true},
		{"in a list, fewer values", 1, 2, testPage{count: 3, rep: slices.Concat(run(1, 0), run(2, 1)), def: run(3, 2), numbers: []int32{5, 6}}, 5, false},
		{"in a list, fewer repetitions", 1, 2, testPage{count: 3, rep: run(2, 0), def: run(3, 2), numbers: []int32{5, 6, 7}}, 7, false},
		{"in a list, fewer definitions", 1, 2, testPage{count: 3, rep: run(3, 0), def: run(2, 2), numbers: []int32{5, 6, 7}}, 7, false},
		{"in a list, fewer rows", 1, 2, testPage{count: 3, rep: run(3, 1), def: run(3, 2), numbers: []int32{5, 6, 7}}, 5, false},
		{"in a list, a row more", 1, 2, testPage{count: 3, rep: run(3, 0), def: run(3, 2), numbers: []int32{5, 6, 7}}, 6, false},
	} {
		for version := 1; version <= 2; version++ {
			l := leaf{SchemaElement: &meta.SchemaElement{Name: "n", Type: thrift.New(meta.Int32)}, maxRep: test.maxRep, maxDef: test.maxDef}
			before := first(test.maxRep, test.maxDef)
			chunk := before.appendTo(t, nil, version, &l)
			chunk = test.page.appendTo(t, chunk, version, &l)
			rows, err := readRows(&l, chunk, 4+test.page.count, test.rows)
			if (err == nil) != test.ok {
				t.Errorf("%s, version %d: read %d rows, %v", test.name, version, rows, err)
			}
		}
	}
	l := leaf{SchemaElement: &meta.SchemaElement{Type: thrift.New(meta.Int32)}, maxRep: 1, maxDef: 1}
	inside := testPage{count: 2, rep: slices.Concat(run(1, 1), run(1, 0)), def: run(2, 1), numbers: []int32{1, 2}}
	if rows, err := readRows(&l, inside.appendTo(t, nil, 2, &l), 2, 1); err == nil {
		t.Errorf("a first row inside of a list: read %d rows", rows)
	}
}

// readRows reads a chunk to its end.
func readRows(l *leaf, chunk []byte, values, rows int) (read int, err error) {
	c := column{leaf: l}
	of := columnChunk{MetaData: columnMeta{TotalCompressedSize: int64(len(chunk)), NumValues: int64(values)}}
	if err := c.begin(bytes.NewReader(chunk), int64(len(chunk)), &of, int64(rows)); err != nil {
		return 0, err
	}
	for ; read < rows; read++ {
		if _, _, err := c.row(); err != nil {
			return read, noEarlyEnd(err)
		}
	}
	return read, c.end()
}

// A run of eight that are true is written with a byte of ones by parquet-go.
func TestRunsOfTrueAreTrue(t *testing.T) {
	l := &leaf{SchemaElement: &meta.SchemaElement{Type: thrift.New(meta.Boolean)}}
	got, err := decode(l, meta.RLE, []byte{2, 0, 0, 0, 0x10, 0xff}, 8, nil)
	if err != nil || len(got) != 8 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, v := range got {
		if v.bits != 1 {
			t.Errorf("read %v", got)
		}
	}
}
