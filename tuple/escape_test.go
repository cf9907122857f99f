package tuple_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/tuple"
	"pgregory.net/rapid"
)

func TestAppendBytesIsAPackedElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := byteString.Draw(t, "b")
		got := tuple.AppendBytes([]byte("dst"), b)
		want := append([]byte("dst"), tuple.MustPack(b)...)
		if !bytes.Equal(got, want) {
			t.Fatalf("got %x, want %x", got, want)
		}
	})
}

func TestDecodeBytesSplitsOffTheFirstElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, after := byteString.Draw(t, "b"), byteString.Draw(t, "after")
		if len(after) > 0 && after[0] == 0xFF {
			t.Skip("no element starts with FF")
		}
		value, rest, err := tuple.DecodeBytes(append(tuple.AppendBytes(nil, b), after...))
		if err != nil || !bytes.Equal(value, b) || !bytes.Equal(rest, after) {
			t.Fatalf("got %x, %x, %v", value, rest, err)
		}
	})
}

func TestDecodeBytesErrors(t *testing.T) {
	for _, in := range []string{"", "\x02a\x00", "\x01", "\x01a", "\x01a\x00\xff", "\x00"} {
		_, _, err := tuple.DecodeBytes([]byte(in))
		if fault := (*tuple.DecodeError)(nil); !errors.As(err, &fault) {
			t.Errorf("%x: got %v, want a *DecodeError", in, err)
		}
	}
}

func TestDecodeBytesSharesMemory(t *testing.T) {
	key := tuple.AppendBytes(nil, []byte("row"))
	key = tuple.AppendBytes(key, []byte("qualifier"))
	value, rest, err := tuple.DecodeBytes(key)
	if err != nil {
		t.Fatal(err)
	}
	if &value[0] != &key[1] || &rest[0] != &key[5] {
		t.Error("value or rest was copied")
	}
	if _ = append(value, "overflow"...); rest[0] != 0x01 {
		t.Error("appending to value overwrote rest")
	}
}

func TestElementWithoutTerminatorIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix, b := byteString.Draw(t, "prefix"), byteString.Draw(t, "b")
		if rapid.Bool().Draw(t, "extend") {
			b = append(bytes.Clone(prefix), b...)
		}
		open := tuple.AppendBytes(nil, prefix)
		open = open[:len(open)-1]
		got := bytes.HasPrefix(tuple.AppendBytes(nil, b), open)
		if want := bytes.HasPrefix(b, prefix); got != want {
			t.Fatalf("%x starts with %x: %v by keys, %v by values", b, prefix, got, want)
		}
	})
}

func TestPackingDoesNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 256)
	row, elems := []byte("a\x00b"), tuple.Tuple{"flight", []byte("N223AG"), 2008, -1.5, nil, true}
	if n := testing.AllocsPerRun(100, func() {
		dst = tuple.AppendBytes(dst[:0], row)
		dst, _ = tuple.AppendPack(dst, elems)
	}); n != 0 {
		t.Errorf("%v allocations with enough room in dst", n)
	}
}
