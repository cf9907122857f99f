package tuple_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/tuple"
)

// The golden tuples of FoundationDB's Go binding whose strings are not UTF-8, with the
// bytes that the binding packs.
var goldenStrings = map[string]struct {
	tuple tuple.Tuple
	hex   string
}{
	"ManyStringsNil": {
		tuple.Tuple{"nam\x00es\xffpace", "nam\x00es\xffpace", "nam\x00es\xffpace", "nam\x00es\xffpace", "nam\x00es\xffpace", "nam\x00es\xffpace", "nam\x00es\xffpace", "nam\x00es\xffpace"},
		"026e616d00ff6573ff7061636500026e616d00ff6573ff7061636500026e616d00ff6573ff7061636500026e616d00ff6573ff7061636500" +
			"026e616d00ff6573ff7061636500026e616d00ff6573ff7061636500026e616d00ff6573ff7061636500026e616d00ff6573ff7061636500",
	},
	"NilCases": {tuple.Tuple{"\x00", "\x00\xff", "\x00\x00\x00", "\xff\x00", ""}, "0200ff000200ffff000200ff00ff00ff0002ff00ff000200"},
	"Nested":   {tuple.Tuple{tuple.Tuple{"\xff", nil}, "é"}, "0502ff0000ff0002c3a900"}, // of our own
}

func TestAnyStringsPackAsOtherBindingsPackThem(t *testing.T) {
	lenient := tuple.Options{AnyStrings: true}
	for name, golden := range goldenStrings {
		want := unhex(t, golden.hex)
		if packed, err := lenient.AppendPack(nil, golden.tuple); err != nil || !bytes.Equal(packed, want) {
			t.Errorf("%s packs to %x, %v", name, packed, err)
		}
		if unpacked, err := lenient.Unpack(want); err != nil || !identical(unpacked, golden.tuple) {
			t.Errorf("%s unpacks to %v, %v", name, unpacked, err)
		}
		if begin, end, err := lenient.Range(golden.tuple); err != nil || !bytes.HasPrefix(begin, want) || !bytes.HasPrefix(end, want) {
			t.Errorf("%s ranges from %x to %x, %v", name, begin, end, err)
		}
	}
}

// Without the option such strings are refused, at the same place.
func TestStringsAreUTF8UnlessAnyAreAskedFor(t *testing.T) {
	for name, golden := range goldenStrings {
		var bad *tuple.PackError
		if _, err := golden.tuple.Pack(); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (tuple.Options{}).Pack(golden.tuple...); !errors.As(err, &bad) {
			t.Errorf("%s with no options: %v", name, err)
		}
		var damaged *tuple.DecodeError
		if _, err := tuple.Unpack(unhex(t, golden.hex)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The option changes nothing else: bytes that are not a packed tuple are still refused.
func FuzzUnpackAnyStrings(f *testing.F) {
	for _, golden := range goldenStrings {
		f.Add(unhex(&testing.T{}, golden.hex))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		lenient := tuple.Options{AnyStrings: true}
		value, err := lenient.Unpack(key)
		strict, strictErr := tuple.Unpack(key)
		if strictErr == nil && (err != nil || !identical(value, strict)) {
			t.Errorf("%x unpacks to %v, with the option to %v, %v", key, strict, value, err)
		}
		if err != nil {
			return
		}
		if again, err := lenient.AppendPack(nil, value); err != nil || !bytes.Equal(again, key) {
			t.Errorf("%x unpacks to %v, which packs to %x, %v", key, value, again, err)
		}
	})
}

func ExampleOptions() {
	key := []byte("\x02caf\xe9\x00") // by a program that writes Latin-1
	_, err := tuple.Unpack(key)
	fmt.Println(err)
	t, err := tuple.Options{AnyStrings: true}.Unpack(key)
	fmt.Println(t, err)
	// Output:
	// tuple: at byte 0: string is not valid UTF-8: "caf\xe9"
	// ("caf\xe9") <nil>
}
