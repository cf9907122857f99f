package nilcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkComplete fails for each exported function, struct and type with methods of the
// package that Funcs and Types do not lead to.
func (r *runner) checkComplete(t testing.TB, dir string) {
	have := map[string]bool{}
	for _, f := range r.Funcs {
		_, name := splitName(f)
		have[name] = true
	}
	for _, typ := range r.types {
		have[typ.Name()] = true
	}
	for name := range exported(t, dir) {
		if !have[name] {
			t.Errorf("%s.%s is exported and is not called: it belongs in the list", r.path, name)
		}
	}
}

// exported are the names of functions, of structs, and of types with exported methods.
func exported(t testing.TB, dir string) map[string]bool {
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no Go files: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() {
					names[owner(d)] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					addStruct(names, s)
				}
			}
		}
	}
	delete(names, "")
	return names
}

func addStruct(names map[string]bool, s ast.Spec) {
	if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() {
		if _, ok := t.Type.(*ast.StructType); ok {
			names[t.Name.Name] = true
		}
	}
}

// owner is the name of a function, or that of a method's exported type.
func owner(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if name, ok := typ.(*ast.Ident); ok && name.IsExported() {
		return name.Name
	}
	return ""
}
