package ql_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// anyTuple draws tuples of all kinds of elements, nested up to depth.
func anyTuple(depth int) *rapid.Generator[tuple.Tuple] {
	text := hostile().Filter(func(s string) bool { return lex.QuoteText(s) != "" })
	elem := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(text, func(s string) any { return string([]rune(s)) }),
		rapid.Map(text, func(s string) any { return []byte(s) }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 9, 40), func(b []byte) any { return new(big.Int).SetBytes(b) }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 9, 40), func(b []byte) any { n := new(big.Int).SetBytes(b); return n.Neg(n) }),
		rapid.Map(rapid.Uint32(), func(n uint32) any { return math.Float32frombits(n) }),
		rapid.Map(rapid.Uint64(), func(n uint64) any { return math.Float64frombits(n) }),
		rapid.SampledFrom([]any{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e300, 3.0, float32(math.Inf(-1)), float32(math.NaN()), float32(16777216), uint64(math.MaxUint64), int64(math.MinInt64)}),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) any { return uuid.UUID(b) }),
		rapid.Map(rapid.Uint16(), func(n uint16) any { return tuple.Versionstamp{TransactionVersion: [10]byte{1, 2, 3}, UserVersion: n} }),
	}
	if depth > 0 {
		elem = append(elem, rapid.Map(anyTuple(depth-1), func(t tuple.Tuple) any { return t }),
			rapid.Map(anyTuple(depth-1), func(t tuple.Tuple) any { return tuple.Desc(t[0]) }))
	}
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(elem...), 1, 4), func(l []any) tuple.Tuple { return l })
}

func TestTuplesReadBackAndHoldNoControlCharacters(t *testing.T) {
	table := schema.Table{KeyFormat: schema.TupleKeys}
	rapid.Check(t, func(t *rapid.T) {
		want, err := anyTuple(3).Draw(t, "tuple").Pack()
		if err != nil {
			t.Fatal(err)
		}
		word := ql.QuoteRowKey(table, string(want))
		checkClean(t, word)
		if word[0] != '(' {
			t.Fatalf("%x is shown as %s", want, word)
		}
		st, err := ql.Parse("get t " + word)
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		if got := st.(*ql.Get).Keys[0]; got != string(want) {
			t.Fatalf("%s packs to %x, not %x", word, got, want)
		}
		if text := ql.Print(st); text != "get t "+word {
			t.Fatalf("%s is printed as %s", word, text)
		}
		st, err = ql.Parse("scan t prefix=" + word)
		if err != nil || st.(*ql.Scan).Prefix != string(want) || !st.(*ql.Scan).TuplePrefix {
			t.Fatalf("prefix=%s: %+v, %v", word, st, err)
		}
	})
}

func TestKeysThatAreNoTuplesAreShownAsText(t *testing.T) {
	table := schema.Table{KeyFormat: schema.TupleKeys}
	for key, want := range map[string]string{
		"plane#TF-FIR": "plane#TF-FIR", // 0x70 is not a type code
		"\x02plane":    `"\x02plane"`,  // not terminated
		"\x02pl\x00":   `("pl")`,
		"\x15":         `"\x15"`,
		"\x14":         `(0)`,
	} {
		if got := ql.QuoteRowKey(table, key); got != want {
			t.Errorf("%q is shown as %s, not %s", key, got, want)
		}
	}
	if got := ql.QuoteRowKey(schema.Table{}, "\x02pl\x00"); got != `"\x02pl\0"` {
		t.Errorf("in a table with plain keys: %s", got)
	}
}
