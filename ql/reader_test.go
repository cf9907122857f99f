package ql_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

func TestCompleteSaysWhetherMoreLinesAreWanted(t *testing.T) {
	for text, want := range map[string]bool{
		"":                          true,
		"get t k":                   true,
		`get t "k`:                  false,
		`get t "k\"`:                false,
		`get t 'it''s`:              false,
		`get t 'it''s'`:             true,
		"scan t columns=[a:b":       false,
		"scan t columns=[a:b\n]":    true,
		"get t \\":                  false,
		"get t \\\n":                true,
		"get t \\\r\n k":            true,
		"get t -- \"":               true,
		"# \"":                      true,
		" # \"":                     false, // # counts as the first character of a line only
		"get t a--\"":               false, // nor is -- a comment within a word
		"get t (":                   false,
		"get t ) )":                 true,
		"get t '\n":                 false,
		"get t a; get t \"b":        false,
		"scan 't', {LIMIT => 1,\n-": false,
	} {
		if got := lex.Complete(text); got != want {
			t.Errorf("Complete(%q) = %v", text, got)
		}
	}
}

func TestReaderGivesStatementsOfLongScriptsWithTheirPlaces(t *testing.T) {
	const lines = 100_000
	line := "put fleet k meta:x=\"" + strings.Repeat("x", 100) + "\"\n"
	r := ql.NewReader(iotest.HalfReader(strings.NewReader(strings.Repeat(line, lines))))
	n := 0
	for {
		src, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
		if want := (lex.Pos{Line: n, Col: 1}); src.Pos != want || src.Text != line[:len(line)-1] {
			t.Fatalf("statement %d is %q at %s", n, src.Text, src.Pos)
		}
	}
	if n != lines {
		t.Fatalf("%d statements", n)
	}
}

func TestReaderTakesWindowsLinesAndAByteOrderMark(t *testing.T) {
	r := ql.NewReader(strings.NewReader("\ufeffget t a\r\n\r\n.mode csv\r\nget t b"))
	var got []string
	for {
		src, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, src.Pos.String()+" "+src.Text)
	}
	if want := "1:1 get t a|3:1 .mode csv|4:1 get t b"; strings.Join(got, "|") != want {
		t.Fatalf("got %q", got)
	}
}

func TestReaderGivesTheErrorOfItsScript(t *testing.T) {
	broken := errors.New("broken")
	r := ql.NewReader(io.MultiReader(strings.NewReader("get t a\nget t"), iotest.ErrReader(broken)))
	if src, err := r.Next(); err != nil || src.Text != "get t a" {
		t.Fatal(src, err)
	}
	for range 2 {
		if src, err := r.Next(); err != broken || src.Text != "" {
			t.Fatal(src, err)
		}
	}
}

// FuzzReader checks that the parser never finds a statement of the Reader unfinished.
func FuzzReader(f *testing.F) {
	f.Add("get t a; get t \\\n 'b\n' -- c\n# d\n.mode\n\\q\nput t k a:b=\"\\\"\"@1")
	f.Add("-\r-\"\n- -\\\r\n-")
	f.Fuzz(func(t *testing.T, script string) {
		r := ql.NewReader(strings.NewReader(script))
		last := lex.Pos{}
		for {
			src, err := r.Next()
			if err != nil {
				var bad *lex.Error
				if !errors.Is(err, io.EOF) && (!errors.As(err, &bad) || bad.Incomplete && lex.Complete(script) && !strings.ContainsAny(script, `.\`)) {
					t.Fatal(err)
				}
				return
			}
			if src.Text == "" || src.Pos.Line < last.Line || src.Pos.Line == last.Line && src.Pos.Col <= last.Col {
				t.Fatalf("%q at %s after %s", src.Text, src.Pos, last)
			}
			last = src.Pos
			if src.Session {
				continue
			}
			var bad *lex.Error
			if _, err := (ql.Env{}).Parse(src); errors.As(err, &bad) && bad.Incomplete {
				t.Fatalf("%q: %v", src.Text, err)
			}
		}
	})
}
