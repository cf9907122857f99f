package nilcheck

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
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
	for _, name := range exported(t, dir) {
		if !have[name] {
			t.Errorf("%s.%s is exported and is not called: it belongs in the list", r.path, name)
		}
	}
}

// exported are the names of functions, of structs, and of types with exported methods.
func exported(t testing.TB, dir string) (names []string) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no Go files: %v", dir, err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(set, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	funcs := pkg.Funcs
	for _, typ := range pkg.Types {
		_, isStruct := typ.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
		if isStruct || len(typ.Methods) > 0 {
			names = append(names, typ.Name)
		}
		funcs = append(funcs, typ.Funcs...)
	}
	for _, f := range funcs {
		names = append(names, f.Name)
	}
	return names
}
