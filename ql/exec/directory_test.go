package exec_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/tuple"
)

// makeDirectories makes directories in the table directories, or in the table dirs: a
// path, a prefix in hexadecimal and a layer in each line, or a path alone.
func makeDirectories(t testing.TB, db *query.DB, lines string) string {
	t.Helper()
	ctx := context.Background()
	for line := range strings.SplitSeq(lines, "\n") {
		line, table, _ := strings.Cut(line, " in ")
		root := directory.New(directory.Options{Table: table, ManualPrefixes: true})
		fields := strings.Fields(line)
		st, err := ql.Parse("ls " + fields[0])
		if err != nil {
			t.Fatal(err)
		}
		path := st.(*ql.ListDirectories).Path.Names
		err = db.Update(ctx, func(tx *query.Tx) error {
			if len(fields) == 1 {
				_, err := root.Create(ctx, tx, path, nil)
				return err
			}
			prefix, err := hex.DecodeString(fields[1])
			if err != nil {
				return err
			}
			_, err = root.CreatePrefix(ctx, tx, path, []byte(strings.Join(fields[2:], " ")), prefix)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return ""
}

// openTenants has the tables of tenants, and the directories tenants/acme and, below it,
// tenants/acme/old.
func openTenants(t *testing.T) *exec.Runner {
	t.Helper()
	r := &exec.Runner{DB: openMemory(t)}
	if out := runAll(t, r, "create table directories family d type=bytes\ncreate table users family f\ncreate table orders family f"); strings.Contains(out, "error") {
		t.Fatal(out)
	}
	makeDirectories(t, r.DB, "tenants 1501\ntenants/acme 1502\ntenants/acme/old 1503")
	return r
}

// putRows writes rows whose keys are a prefix and a number.
func putRows(t *testing.T, db *query.DB, table, prefix string, n int) {
	t.Helper()
	m := write.NewMutation()
	m.Set("f", "q", cells.I64(1))
	keys, ms := make([]string, n), make([]*write.Mutation, n)
	for i := range n {
		keys[i], ms[i] = fmt.Sprintf("%s%06d", prefix, i), m
	}
	if _, err := db.Table(table).ApplyBulk(t.Context(), keys, ms); err != nil {
		t.Fatal(err)
	}
}

func countRows(t *testing.T, db *query.DB, table string) int {
	t.Helper()
	n, err := db.Table(table).Count(t.Context(), read.KeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	return int(n.Rows)
}

// A directory with many rows is removed too: its rows first, without a transaction that
// holds them all.
func TestRmOfALargeDirectory(t *testing.T) {
	r := openTenants(t)
	putRows(t, r.DB, "users", "\x15\x02", 12_000)
	putRows(t, r.DB, "users", "\x15\x01", 1)
	putRows(t, r.DB, "orders", "\x15\x03", 3)
	if out := runAll(t, r, "rm tenants/acme yes"); !strings.Contains(out, "has 3 rows of orders and about 1") || countRows(t, r.DB, "users") != 12_001 {
		t.Error(out)
	}
	out := runAll(t, r, "rm tenants/acme with users, orders yes; ls tenants")
	if !strings.Contains(out, "removed directory tenants/acme, with 1 directory below it, 3 rows of orders and about 1") || !strings.Contains(out, "0 directories") {
		t.Error(out)
	}
	if users, orders := countRows(t, r.DB, "users"), countRows(t, r.DB, "orders"); users != 1 || orders != 0 {
		t.Errorf("%d users and %d orders are left", users, orders)
	}
}

// rm removes the directories that its question named: if something came between, none.
func TestRmLooksAgainAfterItAsked(t *testing.T) {
	for name, c := range map[string]struct {
		rows    int
		between func(t *testing.T, r *exec.Runner)
		want    string
	}{
		"a row":                 {3, func(t *testing.T, r *exec.Runner) { putRows(t, r.DB, "orders", "\x15\x03", 1) }, `rows of tenants/acme were written to table orders meanwhile`},
		"a row of a large one":  {12_000, func(t *testing.T, r *exec.Runner) { putRows(t, r.DB, "orders", "\x15\x02", 1) }, `rows of tenants/acme were written to table orders meanwhile`},
		"a directory":           {3, func(t *testing.T, r *exec.Runner) { makeDirectories(t, r.DB, "tenants/acme/new") }, `directories below tenants/acme were created or removed meanwhile`},
		"a removal below":       {3, func(t *testing.T, r *exec.Runner) { runAll(t, r, "rm tenants/acme/old yes") }, `directories below tenants/acme were created or removed meanwhile`},
		"a move":                {3, func(t *testing.T, r *exec.Runner) { runAll(t, r, "mv tenants/acme tenants/globex") }, `the directory was moved or removed`},
		"a move of a large one": {12_000, func(t *testing.T, r *exec.Runner) { runAll(t, r, "mv tenants tenant") }, `the directory was moved or removed`},
		"another of this name": {3, func(t *testing.T, r *exec.Runner) {
			runAll(t, r, "mv tenants/acme x")
			makeDirectories(t, r.DB, "tenants/acme")
		}, `the directory was moved or removed`},
		"the table of directories": {3, func(t *testing.T, r *exec.Runner) { runAll(t, r, "drop table directories yes") }, `directories`},
	} {
		t.Run(name, func(t *testing.T) {
			r := openTenants(t)
			putRows(t, r.DB, "users", "\x15\x02", c.rows)
			st, err := ql.Parse("rm tenants/acme with users")
			if err != nil {
				t.Fatal(err)
			}
			r.Confirm = func(string) (bool, error) {
				r.Confirm = nil
				c.between(t, r)
				return true, nil
			}
			_, err = r.Run(t.Context(), st)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if n := countRows(t, r.DB, "users"); n != c.rows {
				t.Errorf("%d rows of %d are left", n, c.rows)
			}
		})
	}
}

// A new directory has no rows, although rows of tables that know no directories have the
// prefixes that the allocator draws.
func TestMkdirAvoidsRowsOfAllTables(t *testing.T) {
	r := openTenants(t)
	for n := range 16 {
		putRows(t, r.DB, []string{"users", "orders"}[n%2], tuple.Key(n+10), 1)
	}
	for n := range 20 {
		if out := runAll(t, r, fmt.Sprintf("mkdir new/n%d layer=tenant; ls new/n%d", n, n)); strings.Contains(out, "error") {
			t.Fatal(out)
		}
	}
	if out := runAll(t, r, "rm new yes"); out != "removed directory new, with 20 directories below it\n" {
		t.Error(out)
	}
	runAll(t, r, "mkdir new layer=tenant; mkdir part layer=partition")
	if out := runAll(t, r, "ls"); !strings.Contains(out, "new tenant ") || !strings.Contains(out, "part partition ") {
		t.Error(out)
	}
}

// In a partition the prefixes are longer. A partition is removed with everything in it.
func TestPartitionsInStatements(t *testing.T) {
	r := openTenants(t)
	makeDirectories(t, r.DB, "p 1504 partition\np/a\np/a/b")
	if out := runAll(t, r, "ls p; directories; mv p/a/b p/c; ls p"); strings.Count(out, `"\x15\x04\x`) != 5 || strings.Contains(out, "error") {
		t.Error(out)
	}
	var key string
	err := r.DB.Update(t.Context(), func(tx *query.Tx) error {
		d, err := directory.New(directory.Options{}).Open(t.Context(), tx, []string{"p", "a"}, nil)
		key = string(d.Prefix())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	putRows(t, r.DB, "users", key, 2)
	if out := runAll(t, r, "rm p yes"); !strings.Contains(out, "directory p has 2 rows of users, and nothing was removed") {
		t.Error(out)
	}
	if out := runAll(t, r, "rm p with users yes"); out != "removed directory p, with 2 directories below it and 2 rows of users\n" || countRows(t, r.DB, "users") != 0 {
		t.Error(out)
	}
	if out := runAll(t, r, `scan directories prefix="\x15\x04"`); out != "" {
		t.Errorf("of the partition is left: %s", out)
	}
}

// In a database that is open read-only, directories are shown and not changed.
func TestDirectoriesOfAReadOnlyDatabase(t *testing.T) {
	dir := t.TempDir()
	db, err := query.Open(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runAll(t, &exec.Runner{DB: db}, "create table directories family d type=bytes")
	makeDirectories(t, db, "a 1501\na/b 1502")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = query.OpenReadOnly(dir, query.Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := runAll(t, &exec.Runner{DB: db}, "directories; ls a; mkdir b; mv a c; rm a yes")
	if strings.Count(out, "read-only") != 3 || strings.Count(out, "\nb  ") != 1 || strings.Count(out, "a/b  ") != 1 {
		t.Error(out)
	}
}

func TestDirectoryNames(t *testing.T) {
	r := openTenants(t)
	for i := range 120 {
		makeDirectories(t, r.DB, fmt.Sprintf("many/n%03d", i))
	}
	makeDirectories(t, r.DB, "few/a\nfew/b\nfew/c\nfew/d")
	for _, c := range []struct {
		path   []string
		prefix string
		want   string
	}{
		{nil, "", "[{few true} {many true} {tenants true}] false"},
		{[]string{"tenants"}, "a", "[{acme true}] false"},
		{[]string{"tenants", "acme"}, "", "[{old false}] false"},
		{[]string{"tenants", "acme"}, "x", "[] false"},
		{[]string{"nowhere"}, "", "[] false"},
		{nil, "\xff", "[] false"},
		{[]string{"many"}, "n01", "[{n010 false} {n011 false} {n012 false} {n019 false}] true"},
		{[]string{"few"}, "", "[{a false} {b false} {c false} {d false}] false"},
		{[]string{"few"}, "d", "[{d false}] false"},
	} {
		found, more := r.DirectoryNames(t.Context(), "", c.path, c.prefix, 3)
		if got := fmt.Sprint(found, more); got != c.want {
			t.Errorf("%q, %q: %s, want %s", c.path, c.prefix, got, c.want)
		}
	}
	if got, _ := r.DirectoryNames(t.Context(), "nothing", nil, "", 3); got != nil {
		t.Errorf("of no table: %v", got)
	}
}
