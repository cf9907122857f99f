package ql_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// checkClean fails when text must not be written to a terminal: invalid UTF-8,
// control or format characters, line separators.
func checkClean(t interface{ Fatalf(string, ...any) }, text string) {
	if !utf8.ValidString(text) {
		t.Fatalf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			t.Fatalf("%q holds %U", text, r)
		}
	}
}

// hostile draws texts that mix ordinary and special characters.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "plane#TF-FIR", "\x00", "\x1b[31m", "\u202e", "\u2028", "\u0085", "\x9b", "\xff", "é", "日本", "\u0301", "ﾠ",
			`"`, `'`, `\`, "--", "#", "..", "*", "@", ":", "/", "x", "b64", "=", ",", ";", "\n", "\r", " ", "\t", "as", "yes", "[", "(", "\U000e0001", "\ufeff", "💥"}),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 5), func(p []string) string { return strings.Join(p, "") })
}

func TestQuotedKeysReadBackAndHoldNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := hostile().Filter(func(s string) bool { return s != "" }).Draw(t, "key")
		word := lex.QuoteKey(key)
		checkClean(t, word)
		for _, text := range []string{"get t " + word, "get t a " + word, "scan t prefix=" + word + " start" + "", "delete t " + word + " meta:x"} {
			text = strings.TrimSuffix(text, " start")
			st, err := ql.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var got string
			switch st := st.(type) {
			case *ql.Get:
				got = st.Keys[len(st.Keys)-1]
			case *ql.Scan:
				got = st.Prefix
			case *ql.Delete:
				got = st.Key
			}
			if got != key {
				t.Fatalf("%s: key is %q, not %q", text, got, key)
			}
		}
	})
}

func TestQuotedColumnsReadBackAndHoldNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qualifier := hostile().Draw(t, "qualifier")
		word := lex.QuoteColumn("meta", qualifier)
		checkClean(t, word)
		for _, text := range []string{"put t k " + word + "=1", "scan t columns=" + word, "scan t columns=" + word + ",x:y", "delete t k " + word, "delete t k " + word + "@5"} {
			st, err := ql.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var got ql.Column
			switch st := st.(type) {
			case *ql.Put:
				got = st.Cells[0].Column
			case *ql.Scan:
				got = st.Columns[0]
			case *ql.Delete:
				got = st.Columns[0].Column
			}
			if got.Family != "meta" || got.Qualifier != qualifier || got.Kind != ql.ColumnExact {
				t.Fatalf("%s: column is %+v", text, got)
			}
		}
	})
}

func anyValue() *rapid.Generator[cells.Value] {
	valid := hostile().Filter(utf8.ValidString)
	return rapid.OneOf(
		rapid.Map(valid, cells.String),
		rapid.Map(hostile(), func(s string) cells.Value { return cells.Bytes([]byte(s)) }),
		rapid.Map(rapid.Bool(), cells.Bool), rapid.Map(rapid.Byte(), cells.Byte),
		rapid.Map(rapid.Int32(), cells.I32), rapid.Map(rapid.Int64(), cells.I64),
		rapid.Map(rapid.Float32(), cells.F32), rapid.Map(rapid.Float64(), cells.F64),
		rapid.SampledFrom([]cells.Value{
			cells.F64(math.NaN()), cells.F64(math.Inf(1)), cells.F64(math.Inf(-1)), cells.F64(math.Copysign(0, -1)), cells.F64(1e300), cells.F64(3),
			cells.F32(float32(math.Inf(1))), cells.F32(float32(math.Inf(-1))), cells.F32(float32(math.NaN())), cells.F32(16777216), cells.F32(1e-40),
			cells.I64(math.MinInt64), cells.I32(math.MinInt32),
		}),
	)
}

func TestQuotedValuesReadBackAsTheSameTypeAndHoldNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		declared := rapid.SampledFrom([]cells.Type{cells.TypeAny, v.Type()}).Draw(t, "declared")
		word := lex.QuoteValueAs(v, declared)
		checkClean(t, word)
		st, err := ql.Parse("put t k meta:x=" + word + "@5")
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		a := st.(*ql.Put).Cells[0]
		got, err := a.Value.ValueAs(declared)
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		f, isFloat := v.Float()
		g, _ := got.Float()
		if same := got.Equal(v) || isFloat && f != f && g != g && got.Type() == v.Type(); !same || a.At.At != 5 {
			t.Fatalf("%s is %v %s at %s, not %v %s", word, got, got.Type(), a.At, v, v.Type())
		}
	})
}

func TestQuotedPathsReadBackAndHoldNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(hostile().Filter(utf8.ValidString), 1, 3).Draw(t, "names")
		word := lex.QuotePath(names)
		checkClean(t, word)
		for _, text := range []string{"rm " + word, "rm /" + word + "/ yes", "rm in t " + word, "rm " + word + " in t with u"} {
			st, err := ql.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := st.(*ql.RemoveDirectory).Path.Names; !slices.Equal(got, names) {
				t.Fatalf("%s is %q, want %q", text, got, names)
			}
			checkPrintLaw(t, st)
		}
	})
}
