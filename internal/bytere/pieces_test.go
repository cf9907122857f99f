package bytere

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
	"rsc.io/binaryregexp"
)

// Expressions that are matched in pieces match the same strings as with the engine.
func TestPiecesMatchAsExpressionsDo(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "ab", "aba", `\n`, `\xff`, `\.`, ".*", ".*", "(?s:.*)", `\C*`, "(a)", "(.*)", "^", "$", "[a]", "(?i:a)", "a?", ".*?", "a*", ".+", "|"})
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
		re, err := Compile(expr)
		if err != nil {
			t.Skip(err)
		}
		if re.pieces != nil {
			taken++
		}
		s := string(rapid.SliceOfN(rapid.SampledFrom([]byte("aab\n\xff.")), 0, 5).Draw(t, "s"))
		if got, want := re.MatchString(s), whole(t, expr).MatchString(s); got != want {
			t.Fatalf("%q matches %q: %v; want %v", expr, s, got, want)
		}
	})
	if taken == 0 {
		t.Error("no expression was matched by its pieces")
	}
}

// whole compiles an expression for the engine, also if it would be matched in pieces.
func whole(t rapid.TB, expr string) *binaryregexp.Regexp {
	re, err := compileWhole(latin1(expr))
	if err != nil {
		t.Fatal(err)
	}
	return re
}

// Neighbouring pieces must not share bytes of the string.
func TestPiecesDoNotOverlap(t *testing.T) {
	for _, c := range []struct {
		expr, s string
		want    bool
	}{
		{"a.*a", "a", false}, {"a.*a", "aa", true}, {"ab.*ba", "aba", false}, {"ab.*ba", "abba", true},
		{"a.*b.*c", "abc", true}, {"a.*ab.*b", "aab", false}, {"a.*ab.*b", "aabb", true},
		{"a.*b", "a\nb", false}, {"(?s)a.*b", "a\nb", true}, {".*", "", true}, {".*", "\n", false},
	} {
		re, err := Compile(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := re.pieces.match(c.s); got != c.want || got != whole(t, c.expr).MatchString(c.s) {
			t.Errorf("%q matches %q: %v; want %v", c.expr, c.s, got, c.want)
		}
	}
}

func TestWhichExpressionsArePieces(t *testing.T) {
	for expr, want := range map[string]bool{
		"abc": true, ".*": true, ".*77": true, "user#.*": true, "a.*b.*c": true, "(a.*)": true, `\Qa.b\E.*`: true, "^a.*$": true, "(?s)a.*": true, `a\xff.*`: true,
		"a|b": false, "a.+": false, "a.": false, "(?i)a.*": false, `a\n.*`: false, "(?s:.*)a.*": false, "[ab].*": false,
	} {
		re, err := Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := re.pieces != nil; got != want {
			t.Errorf("%q is pieces: %v; want %v", expr, got, want)
		}
	}
}
