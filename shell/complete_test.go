package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/shell"
)

func TestCompletion(t *testing.T) {
	db := fleet(t, 1)
	s := shell.New(shell.Options{DB: db})
	inUse := shell.New(shell.Options{DB: db, Table: "fleet"})
	for _, c := range []struct {
		s    *shell.Session
		line string
		want string // the whole lines that come of it
	}{
		{s, "sc", "scan "},
		{s, "SC", "scan "},
		{s, "explain sc", "explain scan "},
		{s, "analyze scan fleet pre", "analyze scan fleet prefix="},
		{s, "analyze get ", "analyze get fleet "},
		{s, "cas fleet k if f", "cas fleet k if f:"},
		{s, "cas fleet k i", "cas fleet k if "},
		{s, "gc fleet d", "gc fleet dry-run "},
		{s, "incr fleet k f", "incr fleet k f:"},
		{s, "scan ", "scan fleet "},
		{s, "scan fl", "scan fleet "},
		{s, "drop ", "drop table "},
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
		{s, "import fleet from 'x.csv' bad", "import fleet from 'x.csv' bad-lines="},
		{s, "count fleet; sc", "count fleet; scan "},
		{s, "scan fleet (\nlim", ""},
		{s, "scan fleet \\\nlim", "scan fleet \\\nlimit="},
		{s, "help sc", "help scan "},
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

// Keys are read part by part, so that a table of any size proposes a few; and
// what they have in common is common to all.
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
	if len(many) < 10 || len(many) > 60 || !slices.Contains(many, "get fleet row#002999") {
		t.Errorf("%d proposals: %q", len(many), many)
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

// TestKeysOfAPrefixThatIsNoText: 0xfe is not 0xff, though neither is UTF-8, and keys
// between the two are not of the prefix.
func TestKeysOfAPrefixThatIsNoText(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "a\xfe": "a\xff", "a\xc3\xff\xff": "a\xc4", "a\ufffd": "a\xef\xbf\xbe", "\xff": "", "": ""} {
		if got := shell.Successor(prefix); got != want {
			t.Errorf("%q is followed by %q, want %q", prefix, got, want)
		}
	}
}
