package ql_test

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// A statement does not run without a condition, a bound or a column that stands on its next
// line: a line that cannot begin a statement goes on with the one before it.
func TestALineThatBeginsNoStatementGoesOnWithTheOneBefore(t *testing.T) {
	for text, want := range map[string][]string{
		"delete t prefix=a\nwhere m:x > 3":                            {"delete t where m:x > 3 prefix=a"},
		"delete t prefix=a -- all of them\n\n-- no\n  WHERE m:x > 3":  {"delete t where m:x > 3 prefix=a"},
		"delete t prefix=a\r\nwhere m:x > 3\r\nand m:y == 1\r\n":      {"delete t where m:x > 3 and m:y == 1 prefix=a"},
		"delete t r\nm:late":                                          {"delete t r m:late"},
		"delete t r m:a\n, m:b":                                       {"error"},
		"delete t\nprefix=a":                                          {"delete t prefix=a"},
		"put t r m:x=1\n  m:y=2\ncount t":                             {"put t r m:x=1 m:y=2", "count t"},
		"scan t\nlimit=5\ntables":                                     {"scan t limit=5", "tables"},
		"count t where m:x == 1\n&& m:y == 2":                         {"count t where m:x == 1 and m:y == 2"},
		"drop table t\nyes":                                           {"drop table t yes"},
		"tables\ntables":                                              {"tables", "tables"},
		"tables\n.mode csv\nwhere":                                    {"tables", ".mode csv", "error"},
		"count t\n\n# where\ntables":                                  {"count t", "tables"},
		"select 1\n\n-- c\nwhere true\nselect 2":                      {"select 1\n\n-- c\nwhere true", "select 2"},
		"select 1\n\nfrom t":                                          {"select 1", "from t"},
		"select 1\nfrom t":                                            {"select 1\nfrom t"},
		"with a as (\nselect 1\n)\nselect 2 from a\nselect 3":         {"with a as (\nselect 1\n)\nselect 2 from a", "select 3"},
		"select 1 from t\nleft join u\non a = b\nunion all\nselect 2": {"select 1 from t\nleft join u\non a = b\nunion all\nselect 2"},
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(text), "in halves": iotest.HalfReader(strings.NewReader(text))} {
			if got := canonical(ql.NewReader(r)); !reflect.DeepEqual(got, want) {
				t.Errorf("%q, %s, is read as %q, want %q", text, name, got, want)
			}
		}
		if got := canonical(ql.NewReader(strings.NewReader(lex.OneLine(text)))); len(want) > 0 && want[len(want)-1] != "error" && !strings.Contains(text, "select") && !strings.Contains(text, ".mode") && !reflect.DeepEqual(got, want) {
			t.Errorf("%q comes back from the history as %q", text, got)
		}
	}
}

// canonical are the statements of a script in canonical form, queries and commands as they
// are.
func canonical(r *lex.Reader) (all []string) {
	for {
		src, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			return append(all, "error")
		}
		st, err := ql.Parse(src.Text)
		switch {
		case src.Session || lex.IsQuery(src.Text):
			all = append(all, src.Text)
		case err != nil:
			return append(all, "error")
		default:
			all = append(all, ql.Print(st))
		}
	}
}

// No word that begins a statement is taken for one that goes on.
func TestEveryVerbBeginsAStatement(t *testing.T) {
	for _, verb := range append(ql.Verbs(), "exists", "set", "list", "deleteall", "cbt", "select", "with", "from", "explain") {
		src, err := ql.NewReader(strings.NewReader("tables\n" + verb + " t")).Next()
		if err != nil || src.Text != "tables" {
			t.Errorf("before %s there is %q, %v", verb, src.Text, err)
		}
	}
}

// At a terminal a query ends with a ; or an empty line, and other statements as in a script.
func TestATypedQueryEndsWithASemicolon(t *testing.T) {
	for text, complete := range map[string]bool{
		"select count(*) from t":                    false,
		"select count(*) from t\nwhere m['a'] > 3":  false,
		"select count(*) from t\nwhere m['a'] > 3;": true,
		"select count(*) from t\n":                  true,
		"select count(*) from t\n  \t":              true,
		"select count(*)\nfrom t\njoin u":           false,
		"select '\n":                                false,
		"select (\n":                                false,
		"explain select 1":                          false,
		"explain select 1; -- done":                 true,
		"select 1 -- ;":                             false,
		"from t |> limit 1":                         false,
		"select":                                    false,
		"tables; select 1":                          false,
		"select 1; tables":                          true,
		"select 1 from\n":                           true, // its error shows
		"tables":                                    true,
		"":                                          true,
		"put t k m:x='a":                            false,
		"selection":                                 true,
	} {
		if got := lex.CompleteTyped(text); got != complete {
			t.Errorf("%q: complete is %v", text, got)
		}
	}
	for text, want := range map[string][]string{
		"select count(*)\nfrom t\njoin u;tables": {"select count(*)\nfrom t\njoin u", "tables"},
		"select 1\n\ntables":                     {"select 1\n", "tables"},
		"select 1\n\nwhere true;":                {"select 1\n\nwhere true"},
		"tables\nselect 1;\n.mode csv\ntables":   {"tables", "select 1", ".mode csv", "tables"},
	} {
		if got := canonical(ql.NewTypedReader(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// A clause is found behind the end of a buffer, where the reader waits for nothing.
func TestAClauseBehindTheBufferIsFound(t *testing.T) {
	for _, first := range []string{"select 1 ", "delete t prefix=a "} {
		text := first + strings.Repeat(" ", 64<<10-len(first)-1) + "\nwhere m:x > 3"
		r := ql.NewReader(strings.NewReader(text))
		src, err := r.Next()
		if err != nil || !strings.HasSuffix(src.Text, "where m:x > 3") {
			t.Errorf("%s ends at its line: %v", first, err)
		}
	}
}

// Bytes that are not UTF-8 are refused wherever they stand, with a way to write them.
func TestBytesThatAreNoTextAreRefused(t *testing.T) {
	for _, text := range []string{
		"put t k\xff f:x=1", "put t \"k\xff\" f:x=1", "put t 'k\xff' f:x=1", "put t k f:x=\"\xff\"", "put t k f:x='\xc3'", "put t k f:x=\xe2\x82",
		"put t k f:\"\xff\"=1", "put \"\xff\" k f:x=1", "create table 't\xff' family f", "put t k f:x=bytes(\"\xff\")", "scan t where f:x =~ /\xff/",
		"put 't', 'k', 'f:x', '\xff'", "get t \"a\n\xff\"", "ls \"\xff\"",
	} {
		_, err := ql.Parse(text)
		if err == nil || !strings.Contains(err.Error(), `is not UTF-8; write it as "\x`) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ql.Parse("put t \"k\\xff\" f:x=x'ff' -- \xff"); err != nil {
		t.Error(err)
	}
}
