package ql_test

import (
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query/ql"
)

// Nothing of a statement is passed over that could bound what it deletes or
// writes: what is no comment and no option is an error.
func TestNothingOfAStatementIsPassedOver(t *testing.T) {
	for text, want := range map[string]string{
		`delete u 'a key' --since=2024-01-01`:           "1:18: options have no dashes; write since=2024-01-01",
		`delete u k f:q --since 2024-01-01`:             "write since=2024-01-01",
		`delete u k f:q --SINCE="2024-01-01"`:           `write since="2024-01-01"`,
		"delete u k \\\n --until=now-1h":                "2:2: options have no dashes; write until=now-1h",
		`scan u --stoprow=x`:                            "write end=x",
		`scan u --reverse`:                              "write reverse ",
		`scan u --as csv`:                               "write as csv ",
		`scan u --format=csv`:                           "write as csv ",
		`create table u family f --ttl=3d`:              "write ttl=3d",
		`gc u --dry-run`:                                "write dry-run",
		`delete u k f:q --sinc=2024-01-01`:              `did you mean "since"`,
		`delete u k --force`:                            `"--force" is no comment: a comment is -- and a space`,
		`delete u k ---`:                                "is no comment",
		`delete u k --;`:                                "is no comment",
		`delete u k --"quoted"`:                         "is no comment",
		`delete u k f:q=--x`:                            "is no comment",
		`delete u k -since=2024-01-01`:                  "delete has no option",
		`delete u k -s`:                                 "is not a column",
		`delete u k sinc=2024-01-01`:                    "delete has no option",
		`delete u k f:q since=2024-01-01 since=now`:     "since is given twice",
		`delete u k f:q limit=1`:                        "delete takes no option limit",
		`delete u k since=2024-01-01`:                   "name the columns",
		`delete u prefix=a where f:q == 1 yes`:          "delete takes no option where",
		`delete u prefix=a columns=f:q yes`:             "delete takes no option columns",
		`delete u a key`:                                "is not a column",
		`delete u k # f:q`:                              "is not a column",
		`delete u k // f:q`:                             "is not a column",
		`delete u k /* f:q */`:                          "is not a column",
		`delete u k —since=2024-01-01`:                  "options have no dashes",
		`delete u k ––since=2024-01-01`:                 "options have no dashes",
		`delete u “a key”`:                              "quotes are",
		`delete u ‘a key’`:                              "quotes are",
		"delete u k\u00a0f:q":                           "looks like a space and is none",
		`deleterow u a key`:                             "expected the end of the statement",
		`deletecolumn u k f q extra`:                    "expected the end of the statement",
		`truncate u prefix=a`:                           "expected the end of the statement",
		`drop table u --dry-run`:                        "write dry-run",
		`put u k f:q=1 since=2024-01-01`:                "is not a column",
		`put u k f:q=1 --ts=5`:                          "write ts=5",
		`incr u k f:q 1 2`:                              "expected the end of the statement",
		`delete u a;b`:                                  `1:11: ; ends a statement here, and "b" begins none`,
		`delete u "a";"b"`:                              "; ends a statement here",
		`delete u a;--b`:                                "; ends a statement here",
		"delete u k f:q since=2024-01-01 \\\n--until=x": "2:1: options have no dashes",
	} {
		if _, err := parseScript(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\t%v\n\twant %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"delete u k -- a comment":          "delete u k",
		"delete u k --\tf:q":               "delete u k",
		"delete u k --":                    "delete u k",
		"delete u k --\r\n":                "delete u k",
		"delete u k --\nflush u":           "delete u k|flush u",
		"-- a\n--\nflush u":                "flush u",
		"get u a--b":                       "get u a--b",
		"get u '--b'":                      `get u "--b"`,
		"flush u;compact u;.mode csv":      "flush u|compact u|.mode csv",
		"flush u;-- a comment":             "flush u",
		"flush u; x":                       "flush u|x",
		"scan u columns=[f:a,\n-- b\nf:c]": "scan u columns=f:a,f:c",
	} {
		if got, err := parseScript(text); got != want && (err == nil || !strings.HasSuffix(want, "|x")) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// parseScript is the canonical text of a script's statements.
func parseScript(script string) (string, error) {
	var texts []string
	r := ql.NewReader(strings.NewReader(script))
	for {
		src, err := r.Next()
		if src.Text == "" {
			if bad, ok := err.(*ql.Error); ok {
				return strings.Join(texts, "|"), bad
			}
			return strings.Join(texts, "|"), nil
		}
		if src.Session {
			texts = append(texts, src.Text)
			continue
		}
		st, err := ql.Env{}.Parse(src)
		if err != nil {
			return strings.Join(texts, "|"), err
		}
		texts = append(texts, ql.Print(st))
	}
}

// A statement with such a mistake stays one in the history of the shell, which
// keeps it on one line.
func TestOneLineKeepsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"delete u k \\\n--since=2024-01-01":         "delete u k  --since=2024-01-01",
		"delete u k --since=2024-01-01\nflush u --": "delete u k --since=2024-01-01; flush u",
	} {
		if got := ql.OneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
