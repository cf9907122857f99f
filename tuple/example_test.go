package tuple_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/tuple"
)

// Keys made of tuples sort by their elements: years as numbers, and N22 before N223AG
// with any elements after them.
func Example() {
	keys := [][]byte{
		tuple.MustPack("flight", "N223AG", 2008, "KEF-OSL"),
		tuple.MustPack("flight", "N223AG", 987, "KEF-OSL"),
		tuple.MustPack("flight", "N22", 2024, "OSL-KEF"),
		tuple.MustPack("airport", "KEF"),
	}
	slices.SortFunc(keys, bytes.Compare)
	for _, key := range keys {
		flight, err := tuple.Unpack(key)
		if err != nil {
			panic(err)
		}
		fmt.Println(flight)
	}
	// Output:
	// ("airport", "KEF")
	// ("flight", "N22", 2024, "OSL-KEF")
	// ("flight", "N223AG", 987, "KEF-OSL")
	// ("flight", "N223AG", 2008, "KEF-OSL")
}

func ExamplePack() {
	key, err := tuple.Pack("tenant-1", 42)
	fmt.Printf("%x %v\n", key, err)

	_, err = tuple.Pack("tenant-1", tuple.Tuple{42, "\xff"})
	fmt.Println(err)
	// Output:
	// 0274656e616e742d3100152a <nil>
	// tuple: cannot pack element 1.1: string is not valid UTF-8: "\xff"
}

func ExampleUnpack() {
	t, err := tuple.Unpack([]byte("\x02N223AG\x00\x16\x07\xd8"))
	fmt.Println(t, err)

	_, err = tuple.Unpack([]byte("\x02N223AG\x00\x16\x07"))
	var fault *tuple.DecodeError
	if errors.As(err, &fault) {
		fmt.Println(fault.Offset, fault.Reason)
	}
	// Output:
	// ("N223AG", 2008) <nil>
	// 8 integer is cut short: 2 bytes wanted, 1 left
}

// The range of a tuple holds the keys of all tuples that extend it.
func ExampleRange() {
	begin, end, err := tuple.Range(tuple.Tuple{"flight", "N22"})
	if err != nil {
		panic(err)
	}
	for _, t := range []tuple.Tuple{
		{"flight", "N22"},
		{"flight", "N22", 2024},
		{"flight", "N223AG", 2008},
	} {
		key := tuple.MustPack(t...)
		fmt.Println(t, bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0)
	}
	// Output:
	// ("flight", "N22") false
	// ("flight", "N22", 2024) true
	// ("flight", "N223AG", 2008) false
}

// All flights of planes whose number starts with N22: the packed string
// without its terminator is the prefix of their keys.
func ExamplePrefixRange() {
	prefix := tuple.MustPack("flight", "N22")
	begin, end, err := tuple.PrefixRange(prefix[:len(prefix)-1])
	if err != nil {
		panic(err)
	}
	for _, t := range []tuple.Tuple{
		{"flight", "N22", 2024},
		{"flight", "N223AG", 2008},
		{"flight", "N23", 2024},
	} {
		key := tuple.MustPack(t...)
		fmt.Println(t, bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0)
	}
	// Output:
	// ("flight", "N22", 2024) true
	// ("flight", "N223AG", 2008) true
	// ("flight", "N23", 2024) false
}

// Integers of all Go types are one element; floats are another.
func ExampleCompare() {
	fmt.Println(tuple.Compare(tuple.Tuple{int8(7)}, tuple.Tuple{uint64(7)}))
	fmt.Println(tuple.Compare(tuple.Tuple{7}, tuple.Tuple{7, nil}))
	fmt.Println(tuple.Compare(tuple.Tuple{7.0}, tuple.Tuple{1000}))
	// Output:
	// 0
	// -1
	// 1
}

func ExampleTuple_String() {
	fmt.Println(tuple.Tuple{"plane", "N223AG", 42, nil, []byte{0x00, 0xFF}, float32(1.5), 1.0, tuple.Tuple{true}})
	// Output:
	// ("plane", "N223AG", 42, nil, x'00ff', 1.5f32, 1.0, (true))
}

// A key of byte strings: a row and a column of it.
func ExampleDecodeBytes() {
	key := tuple.AppendBytes(nil, []byte("plane\x00TF-FIR"))
	key = tuple.AppendBytes(key, []byte("model"))
	fmt.Printf("%q\n", key)

	row, rest, _ := tuple.DecodeBytes(key)
	column, rest, err := tuple.DecodeBytes(rest)
	fmt.Printf("%q %q %q %v\n", row, column, rest, err)
	// Output:
	// "\x01plane\x00\xffTF-FIR\x00\x01model\x00"
	// "plane\x00TF-FIR" "model" "" <nil>
}

// The newest flight of a plane comes first.
func ExampleDesc() {
	keys := []string{
		tuple.Key("flight", "N223AG", tuple.Desc(20240125)),
		tuple.Key("flight", "N223AG", tuple.Desc(20240201)),
	}
	slices.Sort(keys)
	for _, key := range keys {
		flight, err := tuple.Unpack([]byte(key))
		if err != nil {
			panic(err)
		}
		fmt.Println(flight, flight[2].(tuple.Descending).Element)
	}
	// Output:
	// ("flight", "N223AG", desc(20240201)) 20240201
	// ("flight", "N223AG", desc(20240125)) 20240125
}
