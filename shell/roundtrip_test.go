package shell_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
	"github.com/smolwc/smolwc/shell/shelltest"
	"github.com/smolwc/smolwc/tuple"
)

// The shown form of a cell, typed in again, writes the same cell: keys as text and as
// tuples, qualifiers and values of any type.
func TestTablesCanBeTypedBackIn(t *testing.T) {
	ctx := context.Background()
	db := fleet(t, 0)
	err := db.CreateTable(ctx, schema.Table{Name: "legs", KeyFormat: schema.TupleKeys, Families: []schema.Family{{Name: "f"}}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		table := rapid.SampledFrom([]string{"fleet", "legs"}).Draw(rt, "table")
		key := hostile().Filter(func(s string) bool { return s != "" }).Draw(rt, "key")
		if table == "legs" && rapid.Bool().Draw(rt, "tuple") {
			packed, err := tuple.Tuple{key, rapid.Int64().Draw(rt, "n"), []byte(key), nil, tuple.Tuple{true, 1.5}}.Pack()
			if err != nil { // text that is not UTF-8
				packed, _ = tuple.Tuple{[]byte(key), float32(-1)}.Pack()
			}
			key = string(packed)
		}
		m := write.NewMutation()
		ts := cells.Timestamp(rapid.Int64Range(0, int64(cells.MaxTimestamp)).Draw(rt, "ts"))
		m.SetAt("f", hostile().Draw(rt, "qualifier"), ts, anyValue(rt))
		if err := db.Table(table).Apply(ctx, key, m); err != nil {
			rt.Fatal(err)
		}
		defer db.TruncateTable(ctx, table)
		show := func(before string) string {
			out, errs, err := shelltest.Run(t, shell.Options{DB: db, Format: "table", Quiet: true}, before+"scan "+table+" versions=all")
			if err != nil {
				rt.Fatalf("%v %s, after %q", err, errs, before)
			}
			return out
		}
		before := show("")
		words := wordsOf(strings.Split(before, "\n")[2])
		if len(words) != 4 {
			rt.Fatalf("%q has the words %q", before, words)
		}
		after := show(fmt.Sprintf("truncate %s yes\nput %s %s %s=%s@%s\n", table, table, words[0], words[1], words[3], words[2]))
		if before != after {
			rt.Fatalf("printed %q, then %q", before, after)
		}
	})
}

func anyValue(t *rapid.T) cells.Value {
	text := hostile().Draw(t, "text")
	bits := rapid.Uint64().Draw(t, "bits")
	return rapid.SampledFrom([]cells.Value{
		cells.Bytes([]byte(text)), cells.String(strings.ToValidUTF8(text, "")), cells.Bool(bits&1 == 1), cells.Byte(byte(bits)),
		cells.I32(int32(bits)), cells.I64(int64(bits)), cells.F32(math.Float32frombits(uint32(bits))), cells.F64(math.Float64frombits(bits)),
	}).Draw(t, "value")
}

// wordsOf cuts a line at the spaces that are neither in quotes nor in brackets.
func wordsOf(line string) (words []string) {
	var quote rune
	escaped, depth := false, 0
	return strings.FieldsFunc(line, func(r rune) bool {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			escaped = r == '\\' && quote == '"'
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '(':
			depth++
		case r == ')':
			depth--
		}
		return r == ' ' && quote == 0 && depth == 0
	})
}

// In csv a key that begins with a quote can be distinguished from a key that is quoted
// because it is not printable.
func TestKeysInCSVAreTold(t *testing.T) {
	db := fleet(t, 0)
	out, errs, err := shelltest.Run(t, shell.Options{DB: db, Format: "csv"}, `put fleet "\x00" f:a=1@1 f:"\x00"=2@1; put fleet '"\0"' f:'"\0"'=3@1; scan fleet`)
	want := "key,column,timestamp,type,value\n" +
		`"""\0""","f:""\0""",1,i64,2` + "\n" + `"""\0""",f:a,1,i64,1` + "\n" +
		`"""\""\\0\""""","f:""\""\\0\""""",1,i64,3` + "\n"
	if err != nil || out != want {
		t.Errorf("%v %s: printed\n%swant\n%s", err, errs, out, want)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	back, errs, err := shelltest.Run(t, shell.Options{DB: db, Format: "csv"}, "create table back family f; import back from '"+path+"'; scan back")
	if err != nil || back != want {
		t.Errorf("imported again, %v %s: printed\n%swant\n%s", err, errs, back, want)
	}
}
