package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

const architecturePage = "docs/architecture.md"

var roomLine = regexp.MustCompile("(?m)^- `([a-z/]+)`: ")

// The page describes every room of the test of imports, once, and no other.
func TestRoomsAreTheTested(t *testing.T) {
	rooms, onPage := roomsInCode(t), map[string]bool{}
	for _, m := range roomLine.FindAllStringSubmatch(read(t, architecturePage), -1) {
		if !rooms[m[1]] {
			t.Errorf("%s has room %s, which the test of imports does not know", architecturePage, m[1])
		}
		if onPage[m[1]] {
			t.Errorf("%s describes room %s twice", architecturePage, m[1])
		}
		onPage[m[1]] = true
	}
	for room := range rooms {
		if !onPage[room] {
			t.Errorf("%s does not have room %s", architecturePage, room)
		}
	}
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
