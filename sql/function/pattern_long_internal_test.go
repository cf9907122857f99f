package function

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slow is an expression that takes about a second on slowText, which is as much as it may.
const slow = "(?:[a-z]?){100}[0-9]"

var slowText = strings.Repeat("abcdefghij", maxMatchSteps/10/400)

// Every function of patterns ends with its context, in the midst of a match.
func TestPatternsEndWithTheirContext(t *testing.T) {
	for _, d := range append(slices.Clone(patterns), ofBytes(byName())...) {
		if !strings.HasPrefix(d.signature, "REGEXP_") {
			continue
		}
		t.Run(d.signature, func(t *testing.T) {
			args := []any{slowText, slow}
			if strings.Contains(d.signature, "REPLACE") {
				args = append(args, "x")
			}
			if strings.Contains(d.signature, "BYTES") {
				for i := range args {
					args[i] = []byte(args[i].(string))
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			looks := 0
			_, err := d.call(looking{ctx, func() {
				if looks++; looks == 3 {
					cancel()
				}
			}}, args)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A looking context calls a function at each look at it.
type looking struct {
	context.Context
	look func()
}

func (l looking) Err() error { l.look(); return l.Context.Err() }

// A match that can be ended is the one of the library.
func TestAMatchOfAReaderIsThatOfTheText(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "ab", "b+", "(b|é)", ".", ".*?", "^", "$", `\b`, "x?", "[^a]", "(?i)A", `\x{fffd}`})
	rapid.Check(t, func(t *rapid.T) {
		p, err := newPattern(strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), ""))
		if err != nil {
			t.Skip(err)
		}
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "é", "\xff", " ", "ab"}), 0, 8).Draw(t, "text"), "")
		want := p.FindStringSubmatchIndex(s)
		p.size = quickSteps + 1 // so that it is not quick
		p.literal = false
		got, err := p.find(context.Background(), p.Regexp, s)
		if !slices.Equal(got, want) || err != nil {
			t.Fatalf("%q in %q: %v, %v; want %v", p.text, s, got, err, want)
		}
		if contains, err := p.contains(context.Background(), s); len(s) > 0 && (contains != (want != nil) || err != nil) && len(s) <= maxMatchSteps/p.size {
			t.Fatalf("%q in %q: %v, %v; want %v", p.text, s, contains, err, want != nil)
		}
	})
}
