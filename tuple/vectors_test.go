package tuple_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/smolwc/smolwc/tuple"
)

// testdata/vectors.json holds tuples and their bytes as FoundationDB's own
// bindings write them. Every element is {"t": type, "v": value}.
func TestVectors(t *testing.T) {
	var vectors []struct {
		Name  string
		Tuple []element
		Hex   string
	}
	readJSON(t, "testdata/vectors.json", &vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			value := toTuple(t, v.Tuple)
			packed, err := value.Pack()
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(packed); got != v.Hex {
				t.Errorf("%v packs to\n %s, want\n %s", value, got, v.Hex)
			}
			unpacked, err := tuple.Unpack(unhex(t, v.Hex))
			if err != nil {
				t.Fatal(err)
			}
			if !identical(unpacked, value) {
				t.Errorf("%s unpacks to %v, want %v", v.Hex, unpacked, value)
			}
		})
	}
}

type element struct {
	Type  string          `json:"t"`
	Value json.RawMessage `json:"v"`
}

func toTuple(t *testing.T, elems []element) tuple.Tuple {
	value := tuple.Tuple{}
	for _, e := range elems {
		value = append(value, e.decode(t))
	}
	return value
}

func (e element) decode(t *testing.T) any {
	switch e.Type {
	case "null":
		return nil
	case "bool":
		return parse[bool](t, e.Value)
	case "string":
		return parse[string](t, e.Value)
	case "bytes":
		return unhex(t, parse[string](t, e.Value))
	case "int":
		return parseInt(t, parse[string](t, e.Value))
	case "f32bits":
		return math.Float32frombits(uint32(parseBits(t, e.Value)))
	case "f64bits":
		return math.Float64frombits(parseBits(t, e.Value))
	case "uuid":
		return uuid.MustParse(parse[string](t, e.Value))
	case "vstamp":
		stamp := parse[struct {
			Tx   string
			User uint16
		}](t, e.Value)
		return tuple.Versionstamp{
			TransactionVersion: [10]byte(unhex(t, stamp.Tx)),
			UserVersion:        stamp.User,
		}
	case "tuple":
		return toTuple(t, parse[[]element](t, e.Value))
	}
	t.Fatalf("vector of unknown type %q", e.Type)
	return nil
}

// parseInt returns the Go type that Unpack promises.
func parseInt(t *testing.T, s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		t.Fatalf("not an integer: %q", s)
	}
	return n
}

func parseBits(t *testing.T, raw json.RawMessage) uint64 {
	bits, err := strconv.ParseUint(parse[string](t, raw), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return bits
}

func parse[T any](t *testing.T, raw json.RawMessage) (value T) {
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func readJSON(t *testing.T, name string, into any) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(name, err)
	}
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// identical reports whether two tuples hold the same Go types and the same
// bits. reflect.DeepEqual would find a NaN unequal to itself, and 0.0 equal to
// -0.0, so floats are compared by their bits.
func identical(a, b tuple.Tuple) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if desc, ok := a[i].(tuple.Descending); ok {
			other, ok := b[i].(tuple.Descending)
			if !ok || !identical(tuple.Tuple{desc.Element}, tuple.Tuple{other.Element}) {
				return false
			}
		} else if nested, ok := a[i].(tuple.Tuple); ok {
			other, ok := b[i].(tuple.Tuple)
			if !ok || !identical(nested, other) {
				return false
			}
		} else if !reflect.DeepEqual(bitsOf(a[i]), bitsOf(b[i])) {
			return false
		}
	}
	return true
}

func bitsOf(elem any) any {
	type bits32 uint32
	type bits64 uint64
	switch f := elem.(type) {
	case float32:
		return bits32(math.Float32bits(f))
	case float64:
		return bits64(math.Float64bits(f))
	}
	return elem
}
