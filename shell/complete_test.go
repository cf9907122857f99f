package shell_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

func TestCompletion(t *testing.T) {
	db := fleet(t, 1)
	s := shell.New(shell.Options{DB: db})
	inUse := shell.New(shell.Options{DB: db, Table: "fleet"})
	for _, c := range []struct {
		s    *shell.Session
		line string
		want string // the completed lines
	}{
		{s, "sca", "scan "},
		{s, "SCA", "scan "},
		{s, "explain sc", "explain scan "},
		{s, "analyze scan fleet pre", "analyze scan fleet prefix="},
		{s, "analyze get ", "analyze get fleet "},
		{s, "cas fleet k if f", "cas fleet k if f:"},
		{s, "cas fleet k i", "cas fleet k if "},
		{s, "wh", "why "},
		{s, "why fleet row#000000 f:", "why fleet row#000000 f:n"},
		{s, "why fleet row#000000 wh", "why fleet row#000000 where "},
		{s, "why fleet row#000000 where f", "why fleet row#000000 where f:"},
		{s, "why fleet row#000000 f:n a", "why fleet row#000000 f:n as "},
		{s, "gc fleet d", "gc fleet dry-run "},
		{s, "copy ", "copy table "},
		{s, "copy table fl", "copy table fleet "},
		{s, "copy table fleet to new columns=f:n a", "copy table fleet to new columns=f:n after=|copy table fleet to new columns=f:n as "},
		{s, "diff fleet fl", "diff fleet fleet "},
		{s, "diff fleet fleet columns=f:", "diff fleet fleet columns=f:n"},
		{s, "diff fleet fleet va", "diff fleet fleet values "},
		{s, "watch fleet to", "watch fleet token="},
		{s, "incr fleet k f", "incr fleet k f:"},
		{s, "scan ", "scan fleet "},
		{s, "scan fl", "scan fleet "},
		{s, "drop ", "drop materialized |drop table |drop view "},
		{s, "drop table f", "drop table fleet "},
		{s, "alter table fleet drop family f", "alter table fleet drop family f "},
		{s, "create table f", ""},
		{s, "scan fleet pre", "scan fleet prefix="},
		{s, "scan fleet columns=", "scan fleet columns=f:"},
		{s, "scan fleet columns=f:", "scan fleet columns=f:n"},
		{s, "scan fleet columns=f:n,", "scan fleet columns=f:n,f:|scan fleet columns=f:n,n"},
		{s, "scan fleet prefix=r", "scan fleet prefix=row#"},
		{s, "get fleet row#", "get fleet row#000000"},
		{s, `get fleet "ro`, `get fleet "row#`},
		{s, `get fleet "row#`, `get fleet "row#000000"`},
		{s, "put fleet k f", "put fleet k f:"},
		{s, "count fleet where f", "count fleet where f:"},
		{s, "scan fleet as js", "scan fleet as json |scan fleet as jsonl "},
		{s, "import fleet from 'x.csv' bad-", "import fleet from 'x.csv' bad-lines="},
		{s, "select f['", "select f['n']"},
		{s, "select 'whe", ""},
		{s, "select 1 -- whe", ""},
		{s, "count fleet; sca", "count fleet; scan "},
		{s, "scan fleet (\nlim", ""},
		{s, "scan fleet \\\nlim", "scan fleet \\\nlimit="},
		{s, "help sca", "help scan "},
		{s, ".mo", ".mode "},
		{s, ".mode js", ".mode json|.mode jsonl"},
		{s, ".use ", ".use fleet"},
		{s, ".pager ", ".pager on|.pager off|.pager auto"},
		{s, `\d `, `\d fleet`},
		{s, `\t`, `\timing `},
		{s, "zzz ", ""},
		{s, "scan nowhere columns=", ""},
		{inUse, "scan pre", "scan prefix="},
		{inUse, "put k f", "put k f:"},
	} {
		if got := strings.Join(shell.Complete(c.s, c.line), "|"); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}

// Keys are completed part by part, so that a table of any size has few proposals; a
// common prefix of the proposals is common to all keys.
func TestCompletionOfKeys(t *testing.T) {
	db := fleet(t, 3000)
	ctx, table := context.Background(), db.Table("fleet")
	for _, key := range []string{"plane#a", "plane#a#x", "plane#b#1", "plane#b#2", "plane#b#2#z", "q/1/2", "with space#1", "with space#2", "\x00\xff", "\xff\xff"} {
		m := write.NewMutation()
		m.Set("f", "n", cells.Bool(true))
		if err := table.Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
	}
	s := shell.New(shell.Options{DB: db})
	for typed, want := range map[string]string{
		"pl":          "plane#",
		"plane#":      "plane#a|plane#a#|plane#b#",
		"plane#b":     "plane#b#",
		"plane#b#":    "plane#b#1|plane#b#2|plane#b#2#",
		"q":           "q/",
		"q/1/":        "q/1/2",
		"w":           `"with space#`,
		`"with space`: `"with space#`,
		"'with space": `"with space#`,
		`"\xff`:       `"\xff\xff"`,
		"zz":          "",
	} {
		var got []string
		for _, line := range shell.Complete(s, "get fleet "+typed) {
			got = append(got, strings.TrimPrefix(line, "get fleet "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
	many := shell.Complete(s, "get fleet row#")
	if len(many) != 52 || many[50] != "get fleet row#002999" || many[51] != "get fleet row#00… (more)" {
		t.Errorf("%d proposals: %q", len(many), many)
	}
}

// Rows of another kind often have other columns: those of each group of keys are proposed.
func TestCompletionOfColumnsOfLaterRows(t *testing.T) {
	db := fleet(t, 300)
	m := write.NewMutation()
	m.Set("f", "maker", cells.String("Boeing"))
	if err := db.Table("fleet").Apply(context.Background(), "zone#plane", m); err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Options{DB: db})
	if got := shell.Complete(s, "scan fleet columns=f:ma"); !slices.Equal(got, []string{"scan fleet columns=f:maker"}) {
		t.Errorf("%q", got)
	}
}

func TestCompletionOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"flights.csv", "dir/inner.csv", "two words.csv", ".hidden"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := shell.New(shell.Options{DB: fleet(t, 0)})
	for typed, want := range map[string]string{
		".read fl":                 ".read flights.csv",
		".read dir/":               ".read dir/inner.csv",
		".output .h":               ".output .hidden",
		".read 'tw":                ".read 'two words.csv'",
		"import fleet from 'fl":    "import fleet from 'flights.csv'",
		"import fleet from fl":     "import fleet from flights.csv",
		"import fleet from 'di":    "import fleet from 'dir/",
		"import fleet from tw":     "import fleet from 'two words.csv'",
		`import fleet from "tw`:    `import fleet from "two words.csv"`,
		"import fleet from 'dir/i": "import fleet from 'dir/inner.csv'",
		".output | gr":             "",
	} {
		if got := strings.Join(shell.Complete(s, typed), "|"); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
}

// TestKeysOfAPrefixThatIsNoText: 0xfe and 0xff are not UTF-8, but they differ, and keys
// between them do not have the prefix.
func TestKeysOfAPrefixThatIsNoText(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "a\xfe": "a\xff", "a\xc3\xff\xff": "a\xc4", "a\ufffd": "a\xef\xbf\xbe", "\xff": "", "": ""} {
		if got := shell.Successor(prefix); got != want {
			t.Errorf("%q is followed by %q, want %q", prefix, got, want)
		}
	}
}

// Paths complete name by name. A name that has to be quoted is quoted alone.
func TestCompletionOfPaths(t *testing.T) {
	db := fleet(t, 1)
	s := shell.New(shell.Options{DB: db})
	if got := shell.Complete(s, "ls "); strings.Join(got, "|") != "ls as |ls in " {
		t.Errorf("without directories: %q", got)
	}
	makeDirectories(t, db, "directories", "tenants/acme/old", "tenants/acme/new", "tenants/apex", "tenants/other one/x", "tenants/other two", "tenants/a/b", "index", "Þ")
	makeDirectories(t, db, "dirs", "elsewhere/a")
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("many/n%03d", i))
	}
	makeDirectories(t, db, "directories", many...)
	for _, c := range []struct{ before, typed, want string }{
		{"ls ", "ten", "tenants/"},
		{"ls ", "/ten", "tenants/"},
		{"ls ", "tenants/ac", "tenants/acme/"},
		{"ls ", "tenants/acme/", "tenants/acme/new|tenants/acme/old"},
		{"ls ", "tenants/ap", "tenants/apex"},
		{"ls ", "tenants/o", `tenants/"other one"/|tenants/"other two"`},
		{"ls ", `tenants/"a`, `tenants/"a"/|tenants/"acme"/|tenants/"apex"`},
		{"ls ", `tenants/'other o`, `tenants/"other one"/`},
		{"ls ", `tenants/"other one"/`, `tenants/"other one"/x`},
		{"ls ", "i", "in |index"},
		{"ls ", "nothing/", ""},
		{"ls a ", "b", ""},
		{"mv tenants/acme ", "Þ", "Þ"},
		{"rm ", "tenants/acme/n", "tenants/acme/new"},
		{"ls in dirs ", "else", "elsewhere/"},
		{"ls ", "else", ""},
		{"ls in fleet ", "", "as "},
		{"rm tenants/acme with ", "f", "fleet "},
		{"rm tenants/acme ", "i", "in "},
		{"", "DIREC", "directories "},
	} {
		var got []string
		for _, line := range shell.Complete(s, c.before+c.typed) {
			got = append(got, strings.TrimPrefix(line, c.before))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s%s: %q, want %q", c.before, c.typed, got, c.want)
		}
	}
	if many = shell.Complete(s, "ls many/"); len(many) != 52 || many[50] != "ls many/n199" || many[51] != "ls many/n… (more)" {
		t.Errorf("%d proposals: %q", len(many), many)
	}
}

// Zones complete from the database, and so do the ids of dead letters.
func TestCompletionOfQueues(t *testing.T) {
	db := fleet(t, 1)
	s := shell.New(shell.Options{DB: db})
	if got := shell.Complete(s, "peek "); strings.Join(got, "|") != "peek in " {
		t.Errorf("without a queue: %q", got)
	}
	dead := ""
	for table, zones := range map[string][]string{"queues": {"acme", "apex", "in", "big co"}, "jobs": {"other"}} {
		if err := db.CreateTable(t.Context(), schema.Table{Name: table, Families: []schema.Family{{Name: "q"}}}); err != nil {
			t.Fatal(err)
		}
		q := queue.New(db, queue.Options{Table: table})
		err := db.Update(t.Context(), func(tx *query.Tx) error {
			for _, zone := range zones {
				id, err := q.Enqueue(t.Context(), tx, zone, queue.Item{Type: "x"})
				if err != nil || zone != "acme" {
					continue
				}
				dead = id.String()
				jobs, err := q.Dequeue(t.Context(), tx, zone, 1, time.Minute)
				if err != nil {
					return err
				}
				if err := jobs[0].Bury(t.Context(), tx, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]string{
		"peek a":         "peek acme |peek apex ",
		"drain ac":       "drain acme ",
		`peek "b`:        `peek "big co" `,
		"peek b":         `peek "big co" `,
		"queues i":       `queues "in" |queues in `,
		"peek in jobs ":  "peek in jobs other ",
		"peek in fleet ": "",
		"peek x":         "",
		"requeue acme ":  "requeue acme " + dead + " |requeue acme all ",
		"item acme 0":    "item acme " + dead + " ",
		"item apex ":     "",
		"SCHED":          "schedules ",
	} {
		if got := strings.Join(shell.Complete(s, typed), "|"); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
}

// makeDirectories makes directories with one path each.
func makeDirectories(t *testing.T, db *query.DB, table string, paths ...string) {
	t.Helper()
	family := schema.Family{Name: directory.DefaultFamily, Type: cells.TypeBytes}
	if err := db.CreateTable(t.Context(), schema.Table{Name: table, Families: []schema.Family{family}}); err != nil && query.KindOf(err) != query.KindAlreadyExists {
		t.Fatal(err)
	}
	err := db.Update(t.Context(), func(tx *query.Tx) error {
		for _, path := range paths {
			if _, err := directory.New(directory.Options{Table: table}).Create(t.Context(), tx, strings.Split(path, "/"), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
