package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const architecturePage = "docs/architecture.md"

var (
	roomLine = regexp.MustCompile("(?m)^- (`[a-z/]+`.*?): ")
	roomName = regexp.MustCompile("`([a-z/]+)`")
)

// The page describes every top folder with rooms of the test of imports, and no folder
// that has none.
func TestFoldersAreTheTested(t *testing.T) {
	rooms, onPage := roomsInCode(t), map[string]bool{}
	for _, m := range roomLine.FindAllStringSubmatch(read(t, architecturePage), -1) {
		first := roomName.FindStringSubmatch(m[1])[1]
		for _, name := range roomName.FindAllStringSubmatch(m[1], -1) {
			if !isFolder(rooms, name[1]) && !isFolder(rooms, path.Join(path.Dir(first), name[1])) {
				t.Errorf("%s has %s, where the test of imports knows no room", architecturePage, name[1])
			}
		}
		onPage[top(first)] = true
	}
	for room := range rooms {
		if folder := top(room); !onPage[folder] && !strings.Contains(read(t, architecturePage), "`"+folder) {
			t.Errorf("%s does not have folder %s", architecturePage, folder)
		}
	}
}

// Each room has a comment that says what it does: the page sends readers there.
func TestRoomsHaveComments(t *testing.T) {
	for room := range roomsInCode(t) {
		files, err := filepath.Glob(filepath.Join("..", room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, hasPackageComment) {
			t.Errorf("%s has no package comment", room)
		}
	}
}

func hasPackageComment(file string) bool {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && parsed.Doc.Text() != ""
}

func isFolder(rooms map[string]bool, folder string) bool {
	for room := range rooms {
		if room == folder || strings.HasPrefix(room, folder+"/") {
			return true
		}
	}
	return false
}

func top(room string) string {
	folder, _, _ := strings.Cut(room, "/")
	return folder
}

// roomsInCode are the folders in the table of package archtest.
func roomsInCode(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/archtest/rooms.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rooms := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != "rooms" {
			return true
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			name, err := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			rooms[name] = true
		}
		return false
	})
	if len(rooms) == 0 {
		t.Fatal("the table of rooms is not where it was")
	}
	return rooms
}
