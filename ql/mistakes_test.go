package ql_test

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// No part of a statement is ignored that could limit its deletes or writes: text that
// is neither a comment nor an option is an error.
func TestNothingOfAStatementIsPassedOver(t *testing.T) {
	for text, want := range map[string]string{
		`delete u 'a key' --since=2024-01-01`:               "1:18: options have no dashes; write since=2024-01-01",
		`delete u k f:q --since 2024-01-01`:                 "write since=2024-01-01",
		`delete u k f:q --SINCE="2024-01-01"`:               `write since="2024-01-01"`,
		"delete u k \\\n --until=now-1h":                    "2:2: options have no dashes; write until=now-1h",
		`scan u --stoprow=x`:                                "write end=x",
		`scan u --reverse`:                                  "write reverse ",
		`scan u --as csv`:                                   "write as csv ",
		`scan u --format=csv`:                               "write as csv ",
		`create table u family f --ttl=3d`:                  "write ttl=3d",
		`gc u --dry-run`:                                    "write dry-run",
		`delete u k f:q --sinc=2024-01-01`:                  `did you mean "since"`,
		`delete from u where f:q = 1`:                       "delete T KEY deletes a row, delete T where CONDITION",
		`drop table if exists u`:                            "takes no if exists",
		`create table u family f family g`:                  "expected a comma before the next family",
		`start transaction`:                                 "begin begins a batch of writes",
		`smolwc scan u`:                                     "this is its shell",
		`branch list`:                                       "it is a command: leave the shell",
		`delete u k --force`:                                `"--force" is not a comment: a comment is -- and a space`,
		`delete u k ---`:                                    "is not a comment",
		`delete u k --;`:                                    "is not a comment",
		`delete u k --"quoted"`:                             "is not a comment",
		`delete u k f:q=--x`:                                "is not a comment",
		`delete u k -since=2024-01-01`:                      "delete has no option",
		`delete u k -s`:                                     "is not a column",
		`delete u k sinc=2024-01-01`:                        "delete has no option",
		`delete u k f:q since=2024-01-01 since=now`:         "since is given twice",
		`delete u k f:q limit=1`:                            "delete takes no option limit",
		`delete u k since=2024-01-01`:                       "name the columns",
		`delete u prefix=a columns=f:q yes`:                 "delete takes no option columns",
		`delete u a key`:                                    "is not a column",
		`delete u k # f:q`:                                  "is not a column",
		`delete u k // f:q`:                                 "is not a column",
		`delete u k /* f:q */`:                              "is not a column",
		`delete u k —since=2024-01-01`:                      "options have no dashes",
		`delete u k ––since=2024-01-01`:                     "options have no dashes",
		`delete u “a key”`:                                  "quotes are",
		`delete u ‘a key’`:                                  "quotes are",
		"delete u k\u00a0f:q":                               "looks like a space but is another character",
		`deleterow u a key`:                                 "expected the end of the statement",
		`deletecolumn u k f q extra`:                        "expected the end of the statement",
		`truncate u prefix=a`:                               "expected the end of the statement",
		`create table u family f versions=3 max_versions=5`: "max_versions is given twice",
		`create table u family f, family n aggregate sum`:   `1:45: expected = after aggregate, as in aggregate=sum, not "sum"`,
		`aggregate t count group by a:b.ts`:                 "histogram T a:b.ts counts by them",
		`aggregate t sum(a:b.ts)`:                           "where a:b.ts compares them",
		`scan t where a:b.ts > a:c`:                         `"a:c" is not a timestamp`,
		`import t from 'f' key='{k}' columns=a:year:i32`:    "a type stands after the field, as in a:year=year:i32",
		`create table u family f ttl=3d max_age=5d`:         "max_age is given twice",
		`create 'u', 'f', READONLY => true`:                 "the flag --read-only opens a whole database for reading only",
		`drop table u --dry-run`:                            "write dry-run",
		`put u k f:q=1 since=2024-01-01`:                    "is not a column",
		`put u k f:q=1 --ts=5`:                              "write ts=5",
		`incr u k f:q 1 2`:                                  "expected the end of the statement",
		`delete u a;b`:                                      `1:11: ; ends a statement here, and "b" does not begin one`,
		`delete u "a";"b"`:                                  "; ends a statement here",
		`delete u a;--b`:                                    "; ends a statement here",
		"delete u k f:q since=2024-01-01 \\\n--until=x":     "2:1: options have no dashes",
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

// A statement that ends in ; is returned before the next one arrives, and a ; at any
// place of a long script is parsed with the whole word after it.
func TestASemicolonWaitsForNothing(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = out.Write([]byte("flush u;")) }()
	if src, err := ql.NewReader(in).Next(); err != nil || src.Text != "flush u" {
		t.Errorf("%q, %v", src.Text, err)
	}
	for pad := range 24 {
		script := "--" + strings.Repeat(" ", 64<<10-24+pad-3) + "\nflush u;compact u"
		if got, err := parseScript(script); err != nil || got != "flush u|compact u" {
			t.Errorf("%d spaces before: %q, %v", pad, got, err)
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
			if bad, ok := err.(*lex.Error); ok {
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

// The shell's history keeps a statement on one line; there it has the same mistake.
func TestOneLineKeepsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"delete u k \\\n--since=2024-01-01":         "delete u k  --since=2024-01-01",
		"delete u k --since=2024-01-01\nflush u --": "delete u k --since=2024-01-01 flush u --",
	} {
		if got := lex.OneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Syntax of other languages that would silently mean something else is an error that
// says what was probably meant.
func TestNothingQuietlyMeansSomethingElse(t *testing.T) {
	for text, want := range map[string]string{
		`put u k f:q=x"00ff"`:      `1:13: x takes ' quotes, as in x'00ff'`,
		`put u k f:x"00ff"=1`:      `x takes ' quotes`,
		`put u k f:q=b64"AP8="`:    `b64 takes ' quotes`,
		`delete u x"00"`:           `x takes ' quotes`,
		`get u (uuid"00")`:         `uuid takes ' quotes`,
		`put u k f:q=b"text"`:      `bytes are written x'00ff'`,
		`get u b'text'`:            `bytes are written x'00ff'`,
		`put u k f:q=a"b"c`:        `write "abc", or a space between`,
		`put u k f:q="a""b"`:       `a quote within a text is \", as in "a\"b"`,
		`put u k f:q="a"'b'`:       `write "ab", or a space between`,
		`put u k f:q='a'"b"`:       `write "ab", or a space between`,
		`put u k f:q="a"b`:         `write "ab", or a space between`,
		`put u k f:q=x'00'x`:       `stand alone`,
		`get u plane#"a b"`:        `write "plane#a b", or a space between`,
		`put u k f:q=it's`:         "unterminated ' quote",
		`scan u regex=/a"b"c`:      "a pattern ends with /",
		`scan u regex=/a.*`:        "a pattern ends with /",
		`scan u regex=~a.*`:        "without a ~; write regex=/a.*/",
		`scan u where f:q =~S.*`:   `write a space before the pattern, as in =~ /S.*/`,
		`scan u where f:q ~ S.*`:   `there is no comparison "~"`,
		`scan u where f:q !~ S.*`:  `the comparison is !=`,
		`scan u where f:q~=5`:      `there is no ~=`,
		`scan u where f:q === 5`:   `write ==`,
		`scan u where f:q =< 5`:    `write <=`,
		`scan u where f:q => 5`:    `write >=`,
		`scan u where f:q >== 5`:   `write >=`,
		`scan u where f:q is null`: `write COL exists or COL absent`,
		`scan u where f:q == null`: `write f:q absent or f:q exists`,
		`put u k f:q+=5`:           `there is no +=; quote a qualifier that ends in +, as in f:"q+"`,
		`put u k f:q-=5`:           `there is no -=`,
		`put u k f:q:=5`:           `there is no :=`,
		`put u k f:q==5`:           `expected "="`,
		`put u k f:q=1,000`:        `not ","`,
		`put u k f:q=1, f:r=2`:     `not ","`,
		`scan u columns=f:a,`:      `expected a column`,
		`scan u columns=f:a,,f:b`:  `expected a column`,
		`scan u keys=a,`:           `expected a row key`,
		`get u ("a",,1)`:           `expected an element of a tuple`,
		`get u (+5)`:               `number +5 has a +; write 5, or quote it`,
		`get u (0b10)`:             `"0b10" looks like a number but is not one`,
	} {
		if st, err := ql.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\t%v\n\twant %s", text, err, want)
			if err == nil {
				t.Log(ql.Print(st))
			}
		}
	}
	for text, want := range map[string]string{
		`put u k f:q=x'00ff' f:x'00ff'=1 f:"a b"=b64'AP8='@5`:                   `put u k f:q=x'00ff' f:"\0\xff"=1 f:"a b"=x'00ff'@5`,
		`scan u columns=f:"a b"*,f:["a"..b),f:[a.."b"),f:/'a|b'c/,f:/"a"/`:      `scan u columns=f:"a b"*,f:[a..b),f:[a..b),f:/"a|bc"/,f:/"a"/`,
		`scan u regex=/a'(b|c)'.*/`:                                             `scan u regex="a(b|c).*"`,
		`put u k f:=5 f:"q+"=1 f:q/=2 f:q =-5`:                                  `put u k f:=5 f:"q+"=1 f:q/=2 f:q=-5`,
		`put u k 'f:q'='it''s' "g":r="\""`:                                      `put u k f:q="it's" g:r="\""`,
		`scan u where f:q<-5 and f:r=5`:                                         `scan u where f:q < -5 and f:r == 5`,
		`get u ~home "null" (null, uuid'6ba7b810-9dad-11d1-80b4-00c04fd430c8')`: `get u ~home null (nil, uuid'6ba7b810-9dad-11d1-80b4-00c04fd430c8')`,
	} {
		st, err := ql.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := ql.Print(st); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A bare word that looks like a number is a number, or is refused if no type is
// declared. Text that begins with a digit is text.
func TestWordsThatLookLikeNumbers(t *testing.T) {
	for _, word := range []string{"+5", "+1.5", "+1e3", "1__0", "1_", "0b10", "0B1", "0o17", "0x", "0xg", "12u8", "12i16", "1.5f16", "null", "NIL"} {
		if v, err := (lex.Literal{Text: word}).Value(); err == nil {
			t.Errorf("%s is %s of type %s", word, v, v.Type())
		}
		for _, l := range []lex.Literal{{Text: word, Quoted: true}, {Text: word, Type: cells.TypeString}} {
			if v, err := l.Value(); err != nil || v.Type() != cells.TypeString {
				t.Errorf("%s in quotes: %v, %v", word, v, err)
			}
		}
		if v, err := (lex.Literal{Text: word}).ValueAs(cells.TypeString); err != nil || v.String() != word {
			t.Errorf("%s in a family of strings: %v, %v", word, v, err)
		}
	}
	for word, want := range map[string]cells.Type{
		"1_000": cells.TypeI64, "0x10": cells.TypeI64, "-0x1F": cells.TypeI64, "1e3": cells.TypeF64, "-1.5e-3": cells.TypeF64, ".5": cells.TypeF64, "nan": cells.TypeF64,
		"12abc": cells.TypeString, "757-256": cells.TypeString, "2024-01-25": cells.TypeString, "10.0.0.1": cells.TypeString, "5gb": cells.TypeString,
		"-": cells.TypeString, "+": cells.TypeString, "a+b": cells.TypeString, "_1": cells.TypeString, "nullable": cells.TypeString, "+354-555": cells.TypeString,
	} {
		if v, err := (lex.Literal{Text: word}).Value(); err != nil || v.Type() != want {
			t.Errorf("%s: %v, %v; want %s", word, v, err, want)
		}
	}
}

// A word with text directly before or after a quote is an error in every place.
func TestAQuoteGluedToAWordIsAnError(t *testing.T) {
	forms := []string{"get u %s", "put u %s f:q=1", "put u k f:q=%s", "delete u %s", "scan u start=%s", "scan u where f:q == %s", "get u (%s)", "import u from %s", "scan u into %s"}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z0-9#+~^%_-]{1,4}`).Draw(t, "word")
		text := rapid.StringMatching(`[a-z0-9 .:/@]{0,4}`).Draw(t, "text")
		quoted := rapid.SampledFrom([]string{lex.QuoteText(text), "'" + text + "'"}).Draw(t, "quoted")
		glued := rapid.SampledFrom([]string{word + quoted, quoted + word, word + quoted + word, quoted + quoted + word, "\"x\"" + quoted}).Draw(t, "glued")
		for _, name := range []string{"x'", "b64'", "uuid'", "f32'", "f64'"} {
			if strings.HasPrefix(glued, name) {
				t.Skip("a literal")
			}
		}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		if st, err := ql.Parse(strings.Replace(form, "%s", glued, 1)); err == nil {
			t.Errorf("%s is %s", glued, ql.Print(st))
		}
	})
}
