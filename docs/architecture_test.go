package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const architecturePage = "docs/architecture.md"

// The table of rooms on the page equals the table in the test of imports.
func TestRoomsAreTheTested(t *testing.T) {
	page, code := roomsOnPage(t), roomsInCode(t)
	for _, room := range slices.Sorted(maps.Keys(code)) {
		if _, ok := page[room]; !ok {
			t.Errorf("%s does not have room %s", architecturePage, room)
		} else if got, want := page[room], code[room]; !slices.Equal(got, want) {
			t.Errorf("%s lets %s import %q, the test of imports %q", architecturePage, room, got, want)
		}
	}
	for room := range page {
		if _, ok := code[room]; !ok {
			t.Errorf("%s has room %s, which the test of imports does not know", architecturePage, room)
		}
	}
}

var (
	roomLine = regexp.MustCompile("^\\| `([a-z/]+)` \\| .* \\| (.*) \\|$")
	quoted   = regexp.MustCompile("`([a-z/]+)`")
)

func roomsOnPage(t *testing.T) map[string][]string {
	t.Helper()
	rooms := map[string][]string{}
	for line := range strings.SplitSeq(read(t, architecturePage), "\n") {
		if m := roomLine.FindStringSubmatch(line); m != nil {
			rooms[m[1]] = nil
			for _, to := range quoted.FindAllStringSubmatch(m[2], -1) {
				rooms[m[1]] = append(rooms[m[1]], to[1])
			}
			slices.Sort(rooms[m[1]])
		}
	}
	return rooms
}

// roomsInCode reads the table of package archtest: for each room, the folders that it
// may import. Libraries are identifiers there, not strings.
func roomsInCode(t *testing.T) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/archtest/rooms.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rooms := map[string][]string{}
	table := new(ast.CompositeLit)
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "rooms" {
			table = v.Values[0].(*ast.CompositeLit)
		}
		return true
	})
	if len(table.Elts) == 0 {
		t.Fatal("the table of rooms is not where it was")
	}
	for _, e := range table.Elts {
		entry := e.(*ast.KeyValueExpr)
		name := text(t, entry.Key)
		rooms[name] = nil
		for _, f := range entry.Value.(*ast.CompositeLit).Elts {
			if field := f.(*ast.KeyValueExpr); field.Key.(*ast.Ident).Name == "imports" {
				rooms[name] = texts(t, field.Value.(*ast.CompositeLit))
			}
		}
	}
	return rooms
}

// texts are the literals of a list of strings, sorted.
func texts(t *testing.T, list *ast.CompositeLit) []string {
	t.Helper()
	var found []string
	for _, e := range list.Elts {
		if lit, ok := e.(*ast.BasicLit); ok {
			found = append(found, text(t, lit))
		}
	}
	slices.Sort(found)
	return found
}

func text(t *testing.T, e ast.Expr) string {
	t.Helper()
	s, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
