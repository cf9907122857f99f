package transfer

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
)

// advised is a dry run's report of a field with these texts.
func advised(texts ...string) FieldReport {
	var l looker
	for _, text := range texts {
		l.see(FieldReport{Field: "f"}, text, true)
	}
	return l.result()[0]
}

// TestAdvice: the type that fits, then what is nearer to the values, of texts with commas
// between them.
func TestAdvice(t *testing.T) {
	for texts, want := range map[string]string{
		"1,-2,0":                                 "i64",
		"true,false":                             "bool",
		"True,FALSE":                             "string bool True",
		"1,true":                                 "string",
		"9223372036854775807":                    "i64",
		"9223372036854775808":                    "string",
		"12345678901234567890":                   "string",
		"18446744073709551616":                   "string",
		"99999999999999999999999999999999999999": "string",
		"9007199254740993,0.5":                   "string",
		"9007199254740992,0.5":                   "f64",
		"1,2.5":                                  "f64",
		"1234567.5":                              "f64",
		"1.50,2":                                 "string f64 1.50",
		"1e5":                                    "string f64 1e5",
		"1e+06":                                  "f64",
		".5":                                     "string f64 .5",
		"5.":                                     "string f64 5.",
		"0.1000000000000000001":                  "string",
		"9007199254740993.5":                     "string",
		"1e400":                                  "string",
		"1e-400":                                 "string",
		"0e999999999999999999999":                "string f64 0e999999999999999999999",
		"-0":                                     "f64",
		"-0,1":                                   "f64",
		"0.0":                                    "string f64 0.0",
		"00501":                                  "string",
		"-007":                                   "string",
		"+5":                                     "string",
		"0x10":                                   "string",
		"1_000":                                  "string",
		" 5,6":                                   "string i64  5",
		"Infinity":                               "string",
		"NaN,+Inf,1.5":                           "f64",
		"nan":                                    "string",
		"2024-01-25":                             "string",
		"\xff\xfe":                               "bytes",
		"1,\xff":                                 "bytes",
		"":                                       "string",
	} {
		r := advised(strings.Split(texts, ",")...)
		got := r.Fits.String()
		if r.Near != cells.TypeAny {
			got += " " + r.Near.String() + " " + r.Respelled
		}
		if got != want {
			t.Errorf("%q: %s, want %s", texts, got, want)
		}
	}
}

// TestAdviceLosesNothing: as the type that fits, each text comes back, or an f64 with an
// exponent that is exactly the same number; the nearer type has the same values.
func TestAdviceLosesNothing(t *testing.T) {
	digits := rapid.StringMatching(`[0-9]{1,40}`)
	text := rapid.OneOf(
		rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) }),
		rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }),
		rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }),
		digits,
		rapid.StringMatching(`[-+ ]?[0-9]{0,20}\.?[0-9]{0,20}([eE][-+]?[0-9]{1,3})?`),
		rapid.SampledFrom([]string{"true", "false", "True", "FALSE", "NaN", "+Inf", "inf", "0", "-0", "007", "0x1p4", "1_000", "t", "1"}),
		rapid.StringOfN(rapid.RuneFrom([]rune("a1.é \n\"")), 0, 4, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(text, 1, 4).Draw(t, "texts")
		r := advised(texts...)
		for _, text := range texts {
			v, problem := convert(text, r.Fits)
			back, isText := rawText(v)
			if !isText {
				back = wideText(v)
			}
			if problem != "" || back != text && !(r.Fits == cells.TypeF64 && strings.Contains(back, "e") && equalNumbers(back, text)) {
				t.Fatalf("%q of %q comes back from %s as %q: %s", text, texts, r.Fits, back, problem)
			}
			if r.Near == cells.TypeAny {
				continue
			}
			v, problem = convert(text, r.Near)
			back = wideText(v)
			if problem != "" || !strings.EqualFold(back, strings.TrimSpace(text)) && !equalNumbers(back, strings.TrimSpace(text)) {
				t.Fatalf("%q of %q is near to %s, and comes back as %q: %s", text, texts, r.Near, back, problem)
			}
		}
	})
}

func equalNumbers(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) == 0
}
