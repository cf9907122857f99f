package archtest

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var root = os.DirFS("../..")

var update = flag.Bool("update", false, "write how many arrows run back up")

func TestImports(t *testing.T) {
	faults, err := check(root, rooms)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// The table must not have rooms that do not exist.
func TestRoomsExist(t *testing.T) {
	for dir := range rooms {
		files, err := fs.Glob(root, path.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("room %s is in the table and has no Go files", dir)
		}
	}
}

// Go refuses import cycles, but not cycles through a test.
func TestArrowsPointOneWay(t *testing.T) {
	var visit func(dir string, trail []string)
	visit = func(dir string, trail []string) {
		if slices.Contains(trail, dir) {
			t.Errorf("circle: %s", strings.Join(append(trail, dir), " -> "))
			return
		}
		for _, to := range rooms[dir].imports {
			if _, ok := rooms[to]; ok {
				visit(to, append(slices.Clone(trail), dir))
			}
		}
	}
	for dir := range rooms {
		visit(dir, nil)
	}
}

// Every package has a package comment.
func TestPackageComments(t *testing.T) {
	for dir := range rooms {
		files, err := fs.Glob(root, path.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		documented, onlyTests := 0, true
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			onlyTests = false
			src, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(src), "//go:build ") {
				_, src, _ = bytes.Cut(src, []byte("\n\n"))
			}
			if strings.HasPrefix(string(src), "// Package ") || strings.HasPrefix(string(src), "// Command ") {
				documented++
			}
		}
		if documented != 1 && !onlyTests {
			t.Errorf("%s has %d package comments, want 1", dir, documented)
		}
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	table := map[string]room{
		"low":  {},
		"mid":  {imports: []string{"low", uuid}},
		"cmd":  {imports: []string{"mid"}, main: true},
		"docs": {tests: []string{"mid"}},
	}
	for _, c := range []struct{ name, file, imports, want string }{
		{"down", "mid/a.go", module + "/low", ""},
		{"up", "low/a.go", module + "/mid", "low/a.go: low must not import " + module + "/mid"},
		{"skipping a floor", "cmd/a.go", module + "/low", "cmd/a.go: cmd must not import " + module + "/low"},
		{"own test", "low/a_test.go", module + "/low", ""},
		{"up in a test", "low/a_test.go", module + "/mid", "low/a_test.go: low must not import " + module + "/mid"},
		{"test's arrow", "docs/a_test.go", module + "/mid", ""},
		{"test's arrow outside a test", "docs/a.go", module + "/mid", "docs/a.go: docs must not import " + module + "/mid"},
		{"command", "mid/a.go", module + "/cmd", "mid/a.go: mid must not import " + module + "/cmd"},
		{"library", "mid/a.go", uuid, ""},
		{"package of a library", "mid/a.go", uuid + "/x", ""},
		{"library that begins alike", "mid/a.go", uuid + "x", "mid/a.go: mid must not import " + uuid + "x"},
		{"other library", "low/a.go", uuid, "low/a.go: low must not import " + uuid},
		{"test library in a test", "low/a_test.go", rapid, ""},
		{"test library elsewhere", "low/a.go", rapid, "low/a.go: low must not import " + rapid},
		{"C", "low/a.go", "C", "low/a.go: low must not import C"},
		{"standard library", "low/a.go", "net/http", ""},
		{"templates", "low/a.go", "html/template", "low/a.go: low must not import html/template"},
		{"templates in a test", "low/a_test.go", "html/template", ""},
		{"unknown room", "new/a.go", "fmt", "new/a.go: room new is not in the table; say in rooms.go what it may import"},
		{"testdata", "low/testdata/a.go", uuid, ""},
	} {
		tree := fstest.MapFS{c.file: {Data: []byte("package x\nimport \"" + c.imports + "\"\n")}}
		faults, err := check(tree, table)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(faults, "\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	nested := fstest.MapFS{
		"bench/go.mod": {Data: []byte("module b\n")},
		"bench/a.go":   {Data: []byte("package b\nimport \"C\"\n")},
	}
	if faults, err := check(nested, table); err != nil || len(faults) > 0 {
		t.Errorf("a module of its own: %v, %v", faults, err)
	}
}

// Bigtable's client is only for tests: it would be most of the binary.
func TestTheBinaryHasNoClient(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./cmd/smolwc")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{bigtable, bigtable + "/bttest", apiOptions + "/option"} {
		if slices.Contains(strings.Fields(string(out)), client) {
			t.Errorf("cmd/smolwc depends on %s", client)
		}
	}
}

// The top folders form a house with floors: none of them reaches itself by imports.
func TestTopFoldersFormNoCycle(t *testing.T) {
	if found := cycles(folderArrows(rooms)); len(found) > 0 {
		t.Errorf("these top folders import each other in a circle: %q", found)
	}
}

// In a package, files stand below those that use them. testdata/arrows.txt has, for each
// room, how many arrows between its files run back up; a change may make the number
// smaller, by -update, and not larger.
func TestNoMoreArrowsRunBackUp(t *testing.T) {
	const name = "testdata/arrows.txt"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	limit := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var dir string
		var n int
		if _, err := fmt.Sscan(line, &dir, &n); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		limit[dir] = n
	}
	var now strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(rooms)) {
		arrows, err := fileArrows(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		back := backUp(arrows)
		if len(back) > limit[dir] && !*update {
			t.Errorf("%s: %d of %d arrows between its files run back up, and %d are allowed: %v", dir, len(back), len(arrows), limit[dir], back)
		}
		if len(back) > 0 {
			fmt.Fprintln(&now, dir, len(back))
		}
	}
	if *update {
		if err := os.WriteFile(name, []byte(now.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A method or a field of another type, and a local name, may be called as what another file
// declares.
func TestNamesAloneAreNoArrows(t *testing.T) {
	tree := fstest.MapFS{
		"p/high.go": {Data: []byte("package p\nimport \"sync/atomic\"\nvar all atomic.Pointer[set]\nfunc High() { all.Load().Add() }\n")},
		"p/set.go":  {Data: []byte("package p\ntype set struct{}\nfunc (*set) Add() {}\nfunc names() {}\n")},
		"p/mid.go":  {Data: []byte("package p\nimport \"inuse\"\ntype mid struct { all inuse.Set[*set] }\n")},
		"p/low.go":  {Data: []byte("package p\nimport \"sync\"\ntype low struct { w sync.WaitGroup; Add int }\nfunc (l *low) do(names int) int { l.w.Add(names); return l.Add }\n")},
	}
	arrows, err := fileArrows(tree, "p")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[arrow]bool{{"high.go", "set.go"}: true, {"mid.go", "set.go"}: true}; !maps.Equal(arrows, want) {
		t.Errorf("arrows %v, want %v", arrows, want)
	}
	delete(tree, "p/high.go")
	delete(tree, "p/mid.go")
	if arrows, err := fileArrows(tree, "p"); err != nil || len(arrows) > 0 {
		t.Errorf("arrows %v, want none: %v", arrows, err)
	}
}

func TestArrowsAreFound(t *testing.T) {
	tree := fstest.MapFS{
		"p/high.go":      {Data: []byte("package p\nfunc High() { mid(); (low{}).step() }\n")},
		"p/mid.go":       {Data: []byte("package p\nfunc mid() { _ = low{} }\n")},
		"p/low.go":       {Data: []byte("package p\ntype low struct{}\nfunc (low) step() { mid() }\n")},
		"p/made.go":      {Data: []byte("// Code generated by hand. DO NOT EDIT.\n\npackage p\nfunc made() { High() }\n")},
		"p/high_test.go": {Data: []byte("package p\nfunc test() { High() }\n")},
	}
	arrows, err := fileArrows(tree, "p")
	if err != nil {
		t.Fatal(err)
	}
	want := map[arrow]bool{{"high.go", "mid.go"}: true, {"high.go", "low.go"}: true, {"mid.go", "low.go"}: true, {"low.go", "mid.go"}: true}
	if !maps.Equal(arrows, want) {
		t.Errorf("arrows %v, want %v", arrows, want)
	}
	if back := backUp(arrows); len(back) != 1 {
		t.Errorf("back up run %v, want one of mid.go and low.go", back)
	}
	delete(arrows, arrow{"low.go", "mid.go"})
	if back := backUp(arrows); len(back) != 0 {
		t.Errorf("back up run %v, want none", back)
	}
	if got := cycles(map[arrow]bool{{"a", "b"}: true, {"b", "c"}: true, {"c", "b"}: true, {"c", "d"}: true}); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("cycles %q", got)
	}
}
