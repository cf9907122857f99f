package ql_test

import (
	"testing"

	"github.com/smolwc/smolwc/ql"
)

// A column with quotes stands wherever one without quotes does: on the right of a
// comparison, and with the time of its cell.
func TestAColumnWithQuotesIsComparedLikeOneWithout(t *testing.T) {
	for text, want := range map[string]string{
		`count t where m:x == m:"a b"`:                          `count t where m:x == m:"a b"`,
		`count t where m:"a b" < m:'c d'`:                       `count t where m:"a b" < m:"c d"`,
		`count t where m:"a b".ts > 1706140800000000`:           `count t where m:"a b".ts > 1706140800000000`,
		`count t where m:"a b".ts >= m:'c d'.ts and m:x exists`: `count t where m:"a b".ts >= m:"c d".ts and m:x exists`,
		`count t where m:x.ts < m:"c d".ts`:                     `count t where m:x.ts < m:"c d".ts`,
		`count t where not m:"a b".ts between 1 and 2`:          `count t where not m:"a b".ts between 1 and 2`,
		`count t where m:x == "m:a b"`:                          `count t where m:x == "m:a b"`,
		`count t where m:x == m:"a.ts"`:                         `count t where m:x == m:a.ts`,
	} {
		st, err := ql.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		printed := ql.Print(st)
		again, err := ql.Parse(printed)
		if err != nil || ql.Print(again) != printed {
			t.Errorf("%s is printed as %s, which is not read back: %v", text, printed, err)
		}
		if printed != want {
			t.Errorf("%s is printed as %s, want %s", text, printed, want)
		}
	}
	for _, text := range []string{`put t k m:"a".ts=1`, `get t m:"a".ts`, `delete t k m:"a".ts`, `count t where m:"a b".ts exists`, `count t where m:"a".tsx > 1`} {
		if st, err := ql.Parse(text); err == nil {
			t.Errorf("%s is read as %s", text, ql.Print(st))
		}
	}
}

// The name of a view is read alike where it is made, dropped and described.
func TestTheNameOfAViewIsReadAlike(t *testing.T) {
	for _, name := range []string{"v", `"a\x41b"`, "'it''s'", `"a\"b"`, `"a b"`} {
		made, err := ql.Parse("create materialized view " + name + " as select 1")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		dropped, err := ql.Parse("drop view " + name)
		if err != nil || made.(*ql.CreateView).View.Text != dropped.(*ql.DropView).View.Text {
			t.Errorf("%s is %q in create view, and %+v in drop view: %v", name, made.(*ql.CreateView).View.Text, dropped, err)
		}
		if again, err := ql.Parse(ql.Print(made)); err != nil || again.(*ql.CreateView).View.Text != made.(*ql.CreateView).View.Text {
			t.Errorf("%s is printed as %s: %v", name, ql.Print(made), err)
		}
	}
	for _, name := range []string{`"a\qb"`, "\"a\xffb\""} {
		if st, err := ql.Parse("create view " + name + " as select 1"); err == nil {
			t.Errorf("%q is read as %s", name, ql.Print(st))
		}
	}
}
