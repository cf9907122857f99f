package exec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Every type of statement that the language declares has an entry, and no other has.
func TestEveryStatementHasAnEntry(t *testing.T) {
	declared := map[string]bool{}
	for _, name := range statementTypes(t) {
		declared[name] = true
	}
	if len(declared) < 30 {
		t.Fatalf("only %d types of statements were found in ql", len(declared))
	}
	for of := range statements {
		if !declared[of.Elem().Name()] {
			t.Errorf("there is an entry for %s, which is not a statement", of)
		}
		delete(declared, of.Elem().Name())
	}
	for name := range declared {
		t.Errorf("there is no entry for *ql.%s in statements.go", name)
	}
}

// statementTypes are the structs of ql that embed a Node.
func statementTypes(t *testing.T) (names []string) {
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if isType && embedsNode(spec) {
				names = append(names, spec.Name.Name)
			}
			return true
		})
	}
	return names
}

func embedsNode(spec *ast.TypeSpec) bool {
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	for _, f := range st.Fields.List {
		if name, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 && name.Name == "Node" {
			return true
		}
	}
	return false
}

// An entry says how to run its statement.
func TestEveryEntryRuns(t *testing.T) {
	for of, e := range statements {
		if reflect.ValueOf(e).FieldByName("run").IsNil() {
			t.Errorf("the entry of %s has no run", of)
		}
	}
}

func TestAgesOfItems(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", time.Second - 1: "0s", 61 * time.Second: "1m1s", time.Hour: "1h", time.Hour + 59*time.Second: "1h", 59*time.Minute + time.Second: "59m1s",
		25*time.Hour + 59*time.Minute: "1d1h", 24*time.Hour + 59*time.Minute: "1d", 10000 * time.Hour: "416d16h",
	} {
		if got := ageText(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
