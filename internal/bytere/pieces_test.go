package bytere

import (
	"context"
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
		if got, want := matches(t, re, s), whole(t, expr).MatchString(s); got != want {
			t.Fatalf("%q matches %q: %v; want %v", expr, s, got, want)
		}
	})
	if taken == 0 {
		t.Error("no expression was matched by its pieces")
	}
}

// whole is the library's matcher of an expression.
func whole(t rapid.TB, expr string) *binaryregexp.Regexp {
	re := wholeOf(expr)
	if re == nil {
		t.Fatalf("the library refuses %q", expr)
	}
	return re
}

// matches is a match whose work has no bound that matters.
func matches(t rapid.TB, re *Regexp, s string) bool {
	got, err := re.Match(WorkOf(context.Background()), s)
	if err != nil {
		t.Fatal(err)
	}
	return got
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
		if got := matches(t, re, c.s); re.pieces == nil || got != c.want || got != whole(t, c.expr).MatchString(c.s) {
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
