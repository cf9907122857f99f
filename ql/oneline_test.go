package ql_test

import (
	"strings"
	"testing"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

func TestOneLineMeansTheSame(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"scan fleet", "scan fleet"},
		{"scan fleet \\\n   limit=1", "scan fleet limit=1"},
		{"scan fleet \\\r\n   limit=1", "scan fleet limit=1"},
		{"scan fleet columns=[\nmeta:a,\nmeta:b]", "scan fleet columns=[ meta:a, meta:b]"},
		{"scan fleet columns=[ -- why\nmeta:a ]", "scan fleet columns=[ meta:a ]"},
		{"put fleet k meta:x='two\nlines'", `put fleet k meta:x="two\nlines"`},
		{"put fleet k meta:x=\"two\nlines\\\"\"", `put fleet k meta:x="two\nlines\""`},
		{"put fleet k meta:x='it''s\n'", `put fleet k meta:x="it's\n"`},
		{"count fleet; put fleet k meta:x='\n'", `count fleet; put fleet k meta:x="\n"`},
		{"count fleet -- and\ncount fleet\n# no\n\ncount fleet", "count fleet; count fleet; count fleet"},
		{"count fleet;\ncount fleet;\n", "count fleet; count fleet"},
	} {
		got := lex.OneLine(c.text)
		if got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
		if a, b := printed(t, c.text), printed(t, got); a != b {
			t.Errorf("%q means %q, and on one line %q", c.text, a, b)
		}
	}
}

// printed is each statement of the text as it is printed.
func printed(t *testing.T, text string) string {
	t.Helper()
	var all []string
	r := ql.NewReader(strings.NewReader(text))
	for {
		src, err := r.Next()
		if err != nil {
			break
		}
		st, err := ql.Env{}.Parse(src)
		if err != nil {
			t.Fatalf("%q: %v", src.Text, err)
		}
		all = append(all, ql.Print(st))
	}
	return strings.Join(all, "; ")
}
