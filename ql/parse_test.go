package ql_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// TestStatementsParseToTheirCanonicalText runs the files in testdata/parse:
// statements in, one a line, canonical text or error with caret out.
func TestStatementsParseToTheirCanonicalText(t *testing.T) {
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return parseAll(t, environment(t, d), d.Input)
		})
	})
}

// Statements of released versions, in testdata/released, are parsed as they were then: see
// docs/stability.md. What was an error may have got a meaning.
func TestReleasedStatementsKeepTheirMeaning(t *testing.T) {
	checked := 0
	datadriven.Walk(t, "testdata/released", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			now := strings.Split(parseAll(t, environment(t, d), d.Input), "\n")
			for line := range strings.SplitSeq(strings.TrimSuffix(d.Expected, "\n"), "\n") {
				if strings.HasPrefix(line, "error ") || strings.HasPrefix(line, "  | ") {
					continue
				}
				checked++
				if !strings.HasPrefix(line, "session command: ") { // options may have new names
					line = strings.TrimSuffix(parseAll(t, environment(t, d), line), "\n")
				}
				i := slices.Index(now, line)
				if i < 0 {
					t.Errorf("%s: in a released version a statement was parsed as\n%s", d.Pos, line)
					continue
				}
				now = now[i+1:]
			}
			return d.Expected
		})
	})
	if checked < 200 {
		t.Errorf("only %d statements", checked)
	}
}

// environment is what the arguments of a test in a file say: the table in use, and the
// tables that there are.
func environment(t *testing.T, d *datadriven.TestData) ql.Env {
	var env ql.Env
	d.MaybeScanArgs(t, "use", &env.Table)
	if d.HasArg("tables") {
		var known []string
		for _, a := range d.CmdArgs {
			if a.Key == "tables" {
				known = a.Vals
			}
		}
		env.IsTable = func(name string) bool {
			for _, k := range known {
				if k == name {
					return true
				}
			}
			return false
		}
	}
	return env
}

func parseAll(t *testing.T, env ql.Env, script string) string {
	var out strings.Builder
	r := ql.NewReader(strings.NewReader(script))
	for {
		src, err := r.Next()
		if src.Text == "" {
			var bad *lex.Error
			if errors.As(err, &bad) {
				writeError(&out, script, lex.Pos{Line: 1, Col: 1}, bad)
			}
			return out.String()
		}
		if src.Session {
			out.WriteString("session command: " + src.Text + "\n")
			continue
		}
		st, err := env.Parse(src)
		if err != nil {
			var bad *lex.Error
			if !errors.As(err, &bad) {
				t.Fatalf("%q: error of type %T", src.Text, err)
			}
			writeError(&out, src.Text, src.Pos, bad)
			continue
		}
		out.WriteString(ql.Print(st) + "\n")
		checkPrintLaw(t, st)
	}
}

func writeError(out *strings.Builder, text string, at lex.Pos, err *lex.Error) {
	out.WriteString("error " + err.Error() + "\n")
	for line := range strings.SplitSeq(lex.Caret(text, at, err), "\n") {
		out.WriteString("  | " + line + "\n")
	}
}

// checkPrintLaw holds Parse(Print(st)) == st, places and spellings aside.
func checkPrintLaw(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, st ql.Statement) {
	t.Helper()
	text := ql.Print(st)
	again, err := ql.Parse(text)
	if err != nil {
		t.Fatalf("canonical text %q does not parse: %v", text, err)
	}
	bare(reflect.ValueOf(st).Elem())
	bare(reflect.ValueOf(again).Elem())
	if !reflect.DeepEqual(st, again) {
		t.Fatalf("canonical text %q parses to\n%#v\nand not to\n%#v", text, again, st)
	}
}

// bare clears positions and marks of foreign spelling.
func bare(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			bare(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			bare(v.Index(i))
		}
	case reflect.Struct:
		switch v.Interface().(type) {
		case lex.Pos, ql.Node:
			v.SetZero()
			return
		case lex.Literal:
			v.FieldByName("Loose").SetBool(false)
		}
		for i := range v.NumField() {
			bare(v.Field(i))
		}
	}
}

// statementForms holds every form of statement that there is.
var statementForms = []string{
	`count t approx cells prefix=a`, `count t stats`, `scan t into 'a.csv' overwrite as tsv`, `get t k into "b\x00"`, `compact t start=a end=b`, `scan 't', {FILTER => "(RowFilter(=, 'regexstring:a') AND ColumnRangeFilter('a',true,'b',false)) && PageFilter(2)", COLUMNS => ['f']}`, `scan t filter="SingleColumnValueFilter('f','q',>=,'binary:it''s',true,true)"`,
	`histogram t a:b bins=5 prefix=x where a:c exists versions=all as csv`, `histogram t keys depth=2 separator=: bins=1 after=k limit=5`, `sparkline t k a:b points=9 since=2024-01-01`, `why t k`, `why t k a:b,c,d:* as csv`, `why t (1,"a") where a:b == 1 and (a:c exists or not key like 'k%') as jsonl`, `stats`, `stats t as json`,
	`scan t page="" limit=3`, `scan t page=AXK where a:b == 1 && a:c != 2`, `tables regex=/a.*/`, `alter table t put family f versions=2 ttl=1h drop=both`,
	`create table t retention=lazy`, `explain histogram t keys`, `describe t`, `compact t`, `flush t`, `truncate t yes`, `drop table t yes`, `alter table t add family f`, `alter table t drop family f yes`, `abort`, `commit`, `help get`, `quit`, `tables`,
	`createtable t families=f:maxversions=1,g:intsum splits=a,b`, `createtable "t" "families=f:maxage=1d||maxversions=2"`, `setgcpolicy t f (maxage=1d && maxversions=2) force`, `setgcpolicy t f never`, `createfamily t f:maxage=1h`, `cbt lookup t k columns=a:.* app-profile=x`, `deletecolumn t k f q`,
	`create 't', {NAME => 'f', VERSIONS => '3', TTL => 'FOREVER', CONFIGURATION => {'a' => 'b'}}, SPLITS => ['a']`, `alter 't', NAME => 'f', METHOD => 'delete'`, `alter 't', 'delete' => 'f'`, `get 't', 'k', ['a:b', 'c'], {FILTER => "PageFilter(1)", CACHE => 5}`, `scan 't', {FILTER => "PrefixFilter('a')", CACHE_BLOCKS => false}`, `deleteall 't', 'k', 'a:b', 5`, `status 'simple'`, `list 'a.*'`, `get_counter 't','k','a:b'`,

	`directories in d as json`, `ls`, `ls /a/"b/c"/'d e'/ in d as csv`, `ls "" as tsv`, `mv "in"/x "with"`, `rm é/"\x00" in d with t, u yes`, `rm in d /`, `cbt ls t`,

	`queues`, `queues in q as csv`, `queues "in" in "as"`, `queues in q "a b" as json`, `peek é limit=5 in q`, `peek "limit" in q limit=5 as csv`, `dead`, `dead limit limit=1`, `dead in q a`, `item a 0190a0b0-0000-7000-8000-000000000001 in q as line`, `requeue all all`, `requeue in q a "all"`, `requeue a x`, `cancel "yes" x in q`, `drain "a\x00" in q yes`, `pause a`, `resume "with" in q`, `schedules in q as tsv`,

	`put fleet plane#TF-FIR meta:model="Boeing 757-256"@2024-01-25 meta:raw=x'0001ff' meta:n=7byte`,
	`scan fleet prefix=plane# columns=meta:model,operator,loc:*,t:a*,t:[a..b) where meta:miles >= 5_0 and meta:x exists limit=20 as csv`,
	`scan 't', {COLUMNS => ['cf:a','cf'], LIMIT => 10, TIMERANGE => [1,2], REVERSED => true}`,
	`delete fleet "a\x00b" flight:FI318@1 meta:*`, `delete fleet prefix=a yes`,
	`scan t where a:b.ts >= a:c.ts and not a:"b.ts" == c`, `aggregate t sum(a:"b.ts") group by a:"b.ts"`,
	`create table t family f type=i32 max_versions=3 max_age=30d, family g`, `alter table t set f versions=all`,
	`import t from 'a.csv' key='{a}' columns=m:a=b:i32,c na=NA`, "get t a\\\n b -- no", `get t "\u00e9" bin"\xff"'x'`,
	`create 't', 'a', {NAME => 'b', TTL => 5}`, `put 't','r','cf:c','42',7`, `count fleet cells`, "put t k a:b=f32(nan)@now-3h",
	`incr t k a:b -5`, `incr 't','k','a:b','7'`, `append t k a:b x'00'`, `cas t k if a:b >= 1.5f32 put a:b=2 a:c=x@5 else put a:d=b64'AP8='`, "begin", "rollback", "add t k a:b 5 a:c=x@7", "create table t family f aggregate=hll",
	`get t ("a", 1) (nil, ("b\x00", x'00ff', -7), 1.5f32, f32(nan), uuid'6ba7b810-9dad-11d1-80b4-00c04fd430c8', 123456789012345678901234567890)`, `scan t prefix=("a",) after=("a", 1) keys-only`,
	`create table t key_format=tuple retention=lazy family f`, `create table t family f key_format=tuple`, `alter table t set key_format=plain`, `delete t prefix=() yes`, `put t (true, "x", f64'7ff0000000000001', versionstamp'0102030405060708090a0291') a:b=1`, `scan t regex=/a.*b/ sample=0.5 stats columns=a:/'x|y'/,a:"/z"`, `analyze count t regex="["`, `gc t dry-run`,
}

func FuzzParse(f *testing.F) {
	for _, seed := range statementForms {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e := (ql.Env{}).Expect(text, len(text)); e.Begin < 0 || e.Begin > len(text) {
			t.Fatalf("%q: the word at the cursor begins at %d", text, e.Begin)
		}
		st, err := ql.Parse(text)
		if err != nil {
			var bad *lex.Error
			if !errors.As(err, &bad) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			if bad.Incomplete && lex.Complete(text) {
				t.Fatalf("%q: %v, but Complete says it is", text, err)
			}
			checkClean(t, err.Error())
			checkClean(t, strings.ReplaceAll(lex.Caret(text, lex.Pos{Line: 1, Col: 1}, bad), "\n", ""))
			return
		}
		if _, isQuery := st.(*ql.Select); isQuery { // SQL, which is parsed when it runs
			return
		}
		if !lex.Complete(text) {
			t.Fatalf("%q parses, but Complete says that it is not all", text)
		}
		checkClean(t, ql.Print(st))
		checkPrintLaw(t, st)
	})
}
