//go:build cgo && linux && !norocksdb

package docs_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

const formatPage = "docs/format.md"

// Every line of a format block is computed, and read back.
func TestWorkedBytes(t *testing.T) {
	seen := map[string]int{}
	types := map[cells.Type]bool{}
	for _, b := range blocks(t, formatPage, "format") {
		for i, line := range b.lines {
			kind, err := checkBytes(line, types)
			if err != nil {
				t.Errorf("%s:%d: %s\n\t%v", b.page, b.line+i, line, err)
			}
			seen[kind]++
		}
	}
	for _, kind := range []string{"key", "row", "bound", "value"} {
		if seen[kind] < 2 {
			t.Errorf("only %d examples of %s", seen[kind], kind)
		}
	}
	for typ := cells.TypeBytes; typ <= cells.TypeF64; typ++ {
		if !types[typ] {
			t.Errorf("no example of a value of type %s", typ)
		}
	}
}

// checkBytes checks one line: it compares the encoding of its description with its
// bytes.
func checkBytes(line string, types map[cells.Type]bool) (kind string, err error) {
	kind, rest, _ := strings.Cut(line, " ")
	i := strings.LastIndex(rest, " = ")
	if i < 0 {
		return kind, fmt.Errorf("no ` = `")
	}
	what := rest[:i]
	want, err := hex.DecodeString(strings.ReplaceAll(rest[i+3:], " ", ""))
	if err != nil {
		return kind, err
	}
	switch kind {
	case "key":
		return kind, checkKey(what, want)
	case "value":
		return kind, checkValue(what, want, types)
	case "row", "bound":
		text, err := strconv.Unquote(what)
		if err != nil {
			return kind, err
		}
		got := cf.AppendRowPrefix(nil, text)
		if kind == "bound" {
			got, _ = cf.Range{Start: text}.Bounds()
		}
		return kind, same(got, want)
	}
	return kind, fmt.Errorf("unknown kind of example")
}

func same(got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the code writes %x", got)
	}
	return nil
}

func checkKey(what string, want []byte) error {
	row, rest, err := unquotePrefix(what)
	if err != nil {
		return err
	}
	qualifier, rest, err := unquotePrefix(rest)
	if err != nil {
		return err
	}
	ts, err := strconv.ParseInt(strings.TrimPrefix(rest, "@"), 10, 64)
	if err != nil {
		return err
	}
	if err := same(cf.AppendCellKey(nil, row, qualifier, ts), want); err != nil {
		return err
	}
	r, q, back, err := cf.SplitCellKey(want)
	if err != nil || string(r) != row || string(q) != qualifier || back != ts {
		return fmt.Errorf("the code reads %q %q @%d, %v", r, q, back, err)
	}
	return nil
}

func unquotePrefix(s string) (text, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", fmt.Errorf("%w at %s", err, s)
	}
	text, err = strconv.Unquote(quoted)
	return text, strings.TrimSpace(s[len(quoted):]), err
}

func checkValue(what string, want []byte, types map[cells.Type]bool) error {
	name, literal, _ := strings.Cut(what, " ")
	v, err := parseValue(name, literal)
	if err != nil {
		return err
	}
	types[v.Type()] = true
	if err := same(cells.AppendValue(nil, v), want); err != nil {
		return err
	}
	back, err := cells.DecodeValue(want)
	if err != nil || !back.Equal(v) {
		return fmt.Errorf("the code reads %v, %v", back, err)
	}
	return nil
}

func parseValue(name, literal string) (v cells.Value, err error) {
	typ, err := cells.ParseType(name)
	if err != nil {
		return v, err
	}
	switch typ {
	case cells.TypeBytes, cells.TypeString:
		text, err := strconv.Unquote(literal)
		if typ == cells.TypeBytes {
			return cells.Bytes([]byte(text)), err
		}
		return cells.String(text), err
	case cells.TypeBool:
		b, err := strconv.ParseBool(literal)
		return cells.Bool(b), err
	case cells.TypeByte:
		n, err := strconv.ParseUint(literal, 10, 8)
		return cells.Byte(byte(n)), err
	case cells.TypeI32:
		n, err := strconv.ParseInt(literal, 10, 32)
		return cells.I32(int32(n)), err
	case cells.TypeI64:
		n, err := strconv.ParseInt(literal, 10, 64)
		return cells.I64(n), err
	case cells.TypeF32:
		f, err := strconv.ParseFloat(literal, 32)
		return cells.F32(float32(f)), err
	}
	f, err := strconv.ParseFloat(literal, 64)
	return cells.F64(f), err
}

// writeDocumented makes the database that the page shows, in dir.
func writeDocumented(t *testing.T, dir string) {
	t.Helper()
	declared, err := schema.Parse([]byte(`
tables:
  - name: fleet
    families:
      - {name: meta, max_versions: 1}
      - name: delay
        type: i32
        gc: {any: [{max_versions: 3}, {all: [{max_versions: 1}, {max_age: 30d}]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2024, 1, 25, 0, 0, 0, 0, time.UTC)
	db, err := query.Open(dir, query.Options{Schema: declared, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("meta", "model", cells.String("Boeing 757-256"))
	m.Set("delay", "dep", cells.I32(-7))
	if err := db.Table("fleet").Apply(context.Background(), "plane#TF-FIR", m); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

var uuidText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// A database that is made as the page describes has the page's catalog entries.
func TestCatalogEntries(t *testing.T) {
	dir := t.TempDir()
	writeDocumented(t, dir)
	store, err := rocks.Open(dir, rocks.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	snap, err := store.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		fmt.Fprintf(&got, "%s = %s\n", key, entries[key])
	}
	page := blocks(t, formatPage, "catalog")[0]
	if got, want := uuidText.ReplaceAllString(got.String(), "UUID"), uuidText.ReplaceAllString(page.text(), "UUID"); got != want {
		t.Errorf("%s:%d: the catalog is\n%s", page.page, page.line, got)
	}
}

// The session with ldb has the output that the page shows.
func TestLdbSession(t *testing.T) {
	if _, err := exec.LookPath("ldb"); err != nil {
		t.Skip("ldb is not installed (Debian: rocksdb-tools)")
	}
	dir := t.TempDir()
	writeDocumented(t, filepath.Join(dir, "data"))
	for _, b := range blocks(t, formatPage, "console") {
		var got strings.Builder
		for _, line := range b.lines {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			fmt.Fprintln(&got, line)
			words := strings.Fields(command)
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("%s: %v", command, err)
			}
			got.Write(out)
		}
		if got.String() != b.text() {
			t.Errorf("%s:%d: the session is\n%s", b.page, b.line, got.String())
		}
	}
}

var extractor = regexp.MustCompile(`(?m)^\s*prefix_extractor=(smolwc\S*)$`)

// The prefix extractor has the name that the page gives, which is on disk.
func TestPrefixExtractorName(t *testing.T) {
	dir := t.TempDir()
	writeDocumented(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no OPTIONS file: %v", err)
	}
	options, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	m := extractor.FindSubmatch(options)
	if m == nil {
		t.Fatal("no family has an extractor")
	}
	name := string(m[1])
	if !strings.Contains(read(t, formatPage), "`"+name+"`") {
		t.Errorf("the prefix extractor is called %s, which %s does not say", name, formatPage)
	}
}
