package tuple_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/tuple"
)

// testdata/malformed.json lists bytes that FoundationDB's bindings are tested to
// refuse. Some of them cause a panic, or unpack to another tuple, in its Go binding.
func TestUnpackRefusesMalformed(t *testing.T) {
	var malformed []string
	readJSON(t, "testdata/malformed.json", &malformed)
	for _, h := range malformed {
		wantDecodeError(t, unhex(t, h))
	}
}

func TestUnpackErrors(t *testing.T) {
	for _, c := range []struct{ what, bytes, want string }{
		{"bytes without terminator", "01 DEADC0DE", "tuple: at byte 0: byte string is not terminated"},
		{"bytes ending in an escape", "01 DE 00FF", "tuple: at byte 0: byte string is not terminated"},
		{"string without terminator", "02 68656C6C6F", "tuple: at byte 0: string is not terminated"},
		{"string of Latin-1", "02 E9 00", `tuple: at byte 0: string is not valid UTF-8: "\xe9"`},
		{"string of surrogates", "02 EDA0BD EDB4A5 00", `tuple: at byte 0: string is not valid UTF-8: "\xed\xa0\xbd\xed\xb4\xa5"`},
		{"nested without terminator", "05 02 68 00", "tuple: at byte 0: nested tuple is not terminated"},
		{"nested ending in a null", "05 00FF", "tuple: at byte 0: nested tuple is not terminated"},
		{"inner of two without terminator", "05 05 00", "tuple: at byte 0: nested tuple is not terminated"},
		{"fault after two good elements", "1501 1502 02 68", "tuple: at byte 4: string is not terminated"},
		{"fault in a nested tuple", "05 14 16 01", "tuple: at byte 2: integer is cut short: 2 bytes wanted, 1 left"},
		{"negative int cut short", "12 01", "tuple: at byte 0: integer is cut short: 2 bytes wanted, 1 left"},
		{"big int cut short", "1D 09 0102030405060708", "tuple: at byte 0: integer is cut short: 9 bytes wanted, 8 left"},
		{"big int without its length", "1D", "tuple: at byte 0: length of integer is cut short: 1 bytes wanted, 0 left"},
		{"1 in two bytes", "16 0001", "tuple: at byte 0: integer is longer than it needs to be"},
		{"0 in one byte", "15 00", "tuple: at byte 0: integer is longer than it needs to be"},
		{"-0 in one byte", "13 FF", "tuple: at byte 0: integer is longer than it needs to be"},
		{"-1 in two bytes", "12 FFFE", "tuple: at byte 0: integer is longer than it needs to be"},
		{"2^63 as a big int", "1D 08 8000000000000000", "tuple: at byte 0: integer is longer than it needs to be"},
		{"2^63 in nine bytes", "1D 09 008000000000000000", "tuple: at byte 0: integer is longer than it needs to be"},
		{"-2^63 in nine bytes", "0B F6 FF7FFFFFFFFFFFFFFF", "tuple: at byte 0: integer is longer than it needs to be"},
		{"big int of no bytes", "1D 00", "tuple: at byte 0: integer is longer than it needs to be"},
		{"float32 cut short", "20 010203", "tuple: at byte 0: float32 is cut short: 4 bytes wanted, 3 left"},
		{"float64 cut short", "21 01020304050607", "tuple: at byte 0: float64 is cut short: 8 bytes wanted, 7 left"},
		{"UUID cut short", "30 0102", "tuple: at byte 0: UUID is cut short: 16 bytes wanted, 2 left"},
		{"versionstamp cut short", "33 0102", "tuple: at byte 0: versionstamp is cut short: 12 bytes wanted, 2 left"},
		{"incomplete versionstamp", "33 FFFFFFFFFFFFFFFFFFFF 0000", "tuple: at byte 0: versionstamp is incomplete"},
		{"old nested tuple", "03 00", "tuple: at byte 0: unknown type code 0x03"},
		{"old true", "25", "tuple: at byte 0: unknown type code 0x25"},
		{"80-bit float", "22 00", "tuple: at byte 0: unknown type code 0x22"},
		{"user type", "41", "tuple: at byte 0: unknown type code 0x41"},
		{"descending without element", "40", "tuple: at byte 0: descending element is cut short"},
		{"descending of nothing", "40 FF", "tuple: at byte 0: descending element is empty"},
		{"descending without terminator", "40 EB", "tuple: at byte 0: descending element is not terminated"},
		{"fault in a descending element", "1501 40 E9 FE", "tuple: at byte 3: integer is cut short: 2 bytes wanted, 1 left"},
		{"unassigned code", "06", "tuple: at byte 0: unknown type code 0x06"},
		{"the escape byte", "FF", "tuple: at byte 0: unknown type code 0xff"},
	} {
		err := wantDecodeError(t, unhex(t, strings.ReplaceAll(c.bytes, " ", "")))
		if err != nil && err.Error() != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, err, c.want)
		}
	}
}

// A code that is not an element's is refused even when good bytes follow.
func TestUnpackRefusesEveryOtherTypeCode(t *testing.T) {
	known := "\x00\x01\x02\x05\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x20\x21\x26\x27\x30\x33\x40"
	for code := range 256 {
		if !strings.Contains(known, string([]byte{byte(code)})) {
			wantDecodeError(t, append([]byte{byte(code)}, make([]byte, 300)...))
		}
	}
}

// A truncated element is refused, except if it is cut between the 00 and the FF of an
// escape: the rest is then a shorter element.
func TestUnpackRefusesTruncation(t *testing.T) {
	for _, elem := range oneOfEachType() {
		key := tuple.MustPack(elem)
		for cut := 1; cut < len(key); cut++ {
			if escape := key[cut-1] == 0x00 && key[cut] == 0xFF; !escape {
				wantDecodeError(t, key[:cut])
			}
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	nested := func(depth int) tuple.Tuple {
		value := tuple.Tuple{}
		for range depth {
			value = tuple.Tuple{value}
		}
		return value
	}
	key := tuple.MustPack(nested(tuple.MaxDepth)...)
	if _, err := tuple.Unpack(key); err != nil {
		t.Errorf("depth %d: %v", tuple.MaxDepth, err)
	}
	if _, err := nested(tuple.MaxDepth + 1).Pack(); err == nil {
		t.Errorf("depth %d packs", tuple.MaxDepth+1)
	}
	wantDecodeError(t, append(append([]byte{0x05}, key...), 0x00))

	hostile := []byte(strings.Repeat("\x05", 10_000_000))
	if err := wantDecodeError(t, hostile); err != nil && err.Offset != tuple.MaxDepth {
		t.Errorf("depth 10,000,000: refused at byte %d, want %d", err.Offset, tuple.MaxDepth)
	}
}

func TestManyNestedTuplesSideBySide(t *testing.T) {
	wide := tuple.Tuple{}
	for range 3 * tuple.MaxDepth {
		wide = append(wide, tuple.Tuple{tuple.Tuple{}})
	}
	if got, err := tuple.Unpack(tuple.MustPack(wide...)); err != nil || !identical(got, wide) {
		t.Errorf("%d elements and %v", len(got), err)
	}
}

func TestTupleThatHoldsItselfIsRefused(t *testing.T) {
	loop := tuple.Tuple{nil}
	loop[0] = loop
	if _, err := loop.Pack(); err == nil {
		t.Error("it packs")
	}
}

func TestUnpackedTupleOwnsItsMemory(t *testing.T) {
	key := tuple.MustPack([]byte("ab"), []byte("a\x00b"), "ab", tuple.Tuple{[]byte("ab")})
	got, err := tuple.Unpack(key)
	if err != nil {
		t.Fatal(err)
	}
	clear(key)
	want := tuple.Tuple{[]byte("ab"), []byte("a\x00b"), "ab", tuple.Tuple{[]byte("ab")}}
	if !identical(got, want) {
		t.Errorf("changing the key changed the tuple to %v", got)
	}
}

func TestUnpackOfNothingIsTheEmptyTuple(t *testing.T) {
	got, err := tuple.Unpack(nil)
	if got == nil || len(got) != 0 || err != nil {
		t.Errorf("got %#v, %v", got, err)
	}
}

func wantDecodeError(t *testing.T, key []byte) *tuple.DecodeError {
	t.Helper()
	got, err := tuple.Unpack(key)
	shown := hex.EncodeToString(key[:min(len(key), 40)])
	if err == nil {
		t.Errorf("%s unpacks to %v, want an error", shown, got)
		return nil
	}
	var fault *tuple.DecodeError
	if !errors.As(err, &fault) || got != nil {
		t.Errorf("%s: got %v and %T %v, want only a *DecodeError", shown, got, err, err)
	}
	return fault
}
