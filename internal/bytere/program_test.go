package bytere

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Programs match the strings that the library's own matcher matches.
func TestProgramsMatchAsTheLibraryDoes(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "ab", `\n`, `\xff`, `\.`, ".", ".*", "(?s:.)", `\C`, "(a|b)", "(?:a|ab)(?:c|bcd)?", "^", "$", `\A`, `\z`, `\b`, `\B`, "(?m:^)", "(?m:$)",
		"[ab]", "[^a]", "(?i:a)", `(?i:\xe0)`, "(?i)k", "a?", "a*", "b+", "a{2,3}", "(?:a?){3}", "(?:)", "()", "(|a)*", "|", "[[:word:]]", `\pL`, `\d`, "x*?", "(?U)a*"})
	programs := 0
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
		re, err := Compile(expr)
		if err != nil {
			t.Skip(err)
		}
		if re.program == nil {
			t.Skip("it is matched otherwise")
		}
		programs++
		for range 4 { // the memory of matches is used again
			s := string(rapid.SliceOfN(rapid.SampledFrom([]byte("aabABkK\n\xff\xe0\xc0.c9 ")), 0, 7).Draw(t, "s"))
			got, err := re.program().match(WorkOf(context.Background()), s)
			if want := whole(t, expr).MatchString(s); got != want || err != nil {
				t.Fatalf("%q matches %q: %v, %v; want %v", expr, s, got, err, want)
			}
		}
	})
	if programs == 0 {
		t.Error("no expression was matched by a program")
	}
}

// bombs are expressions that take long on long values.
var bombs = map[string]string{
	"bounded repetitions": ".*" + strings.Repeat(".{0,100}", 20) + "z",
	"many repetitions":    ".*" + strings.Repeat(".{0,100}", 100) + "z",
	"optional parts":      "(?:" + strings.Repeat("[a-j]?", 400) + ")*z",
	"alternatives":        "(?:[a-j]{1,900}|[a-k]{1,900}|[a-l]{1,900})*z",
	"nothing but groups":  "(?:" + strings.Repeat("()", 900) + "[a-z])*[0-9]",
	"assertions":          `(?:(?:\b|\B|(?m:^)|(?m:$)){50}[a-z])*[0-9]`,
}

// A match ends when its steps are used up, and as soon as its context ends.
func TestAMatchIsBounded(t *testing.T) {
	value := strings.Repeat("abcdefghij", 1<<20)
	for name, expr := range bombs {
		t.Run(name, func(t *testing.T) {
			re := compiled(t, expr)
			if _, err := re.Match(NewWork(context.Background(), CallSteps/64), value); !errors.Is(err, ErrTooMuch) {
				t.Errorf("with steps for a part: %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			w := NewWork(looking{ctx, cancel}, 1<<62)
			if _, err := re.Match(w, value); !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that ends: %v", err)
			}
			if taken := 1<<62 - w.left; taken > 3*lookEvery {
				t.Errorf("it looks at its context after %d steps", taken)
			}
		})
	}
}

// A looking context is cancelled by the first look at it.
type looking struct {
	context.Context
	cancel context.CancelFunc
}

func (l looking) Err() error { l.cancel(); return l.Context.Err() }

// Also a search for texts, which is quick, looks at its context.
func TestASearchLooksAtItsContext(t *testing.T) {
	re := compiled(t, ".*z.*")
	ctx, cancel := context.WithCancel(context.Background())
	value := strings.Repeat("a", 64<<20)
	if _, err := re.Match(NewWork(looking{ctx, cancel}, 1<<62), value); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if re.pieces == nil {
		t.Error("it is not a search")
	}
}

// A text is found wherever it lies about the ends of windows.
func TestASearchGoesOnInWindows(t *testing.T) {
	for _, at := range []int{0, 1, window - 2, window - 1, window, window + 1, 2*window - 1, 3*window - 3} {
		s := strings.Repeat("a", at) + "xyz" + strings.Repeat("a", 3*window-at)
		if got, err := index(WorkOf(t.Context()), s, "xyz"); got != at || err != nil {
			t.Errorf("at %d: %d, %v", at, got, err)
		}
		if got, err := index(WorkOf(t.Context()), s, "xyy"); got != -1 || err != nil {
			t.Errorf("at %d: found %d, %v", at, got, err)
		}
	}
}

// A row earns steps, which other rows cannot use.
func TestRowsEarnSteps(t *testing.T) {
	w := NewWork(t.Context(), 1000)
	w.byte = ByteSteps
	for range 100 {
		w.Row(100)
		if err := w.Spend(100 * ByteSteps); err != nil {
			t.Fatal(err)
		}
	}
	w.Row(10)
	if err := w.Spend(10*ByteSteps + 900); err != nil {
		t.Error(err)
	}
	w.Row(1)
	if err := w.Spend(ByteSteps + 101); !errors.Is(err, ErrTooMuch) {
		t.Errorf("101 steps more than are left: %v", err)
	}
}

// Rows earn what ordinary filters take, however many rows there are.
func TestOrdinaryExpressionsTakeWhatRowsEarn(t *testing.T) {
	const line = `2026-03-01T10:15:30.123Z host-17 app[4211]: WARN request 7f3c9a timed out after 3000 ms, GET /api/v2/items?id=77 HTTP/1.1 502`
	exprs := []string{
		`(?i).*\berror\b.*time ?out.*`,
		`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z host-[0-9]+ .*`,
		`.*(GET|POST|PUT|DELETE) /[a-z0-9/]+(\?[^ ]*)? HTTP/1\.[01] [45]\d\d`,
		`.*\b(?:WARN|ERROR|FATAL)\b.*`,
		`.*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}.*`,
		`.*\[[0-9]+\]: .*`,
	}
	for _, rows := range []string{line, strings.Repeat(line, 20)} {
		w := WorkOf(t.Context())
		for range 2_000_000 / len(rows) {
			w.Row(len(rows))
			for _, expr := range exprs {
				if _, err := compiled(t, expr).Match(w, rows); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
