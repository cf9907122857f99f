package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// check returns everything in a source tree that breaks the table: a room that
// is not in it, and imports that it does not allow.
func check(tree fs.FS, rooms map[string]room) ([]string, error) {
	var faults []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(tree, name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		wrong, err := checkFile(tree, name, rooms)
		faults = append(faults, wrong...)
		return err
	})
	return faults, err
}

// skip skips folders that are not packages of the module: folders that the go command
// ignores, and nested modules.
func skip(tree fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func checkFile(tree fs.FS, name string, rooms map[string]room) ([]string, error) {
	dir := path.Dir(name)
	r, ok := rooms[dir]
	if !ok {
		return []string{fmt.Sprintf("%s: room %s is not in the table; say in rooms.go what it may import", name, dir)}, nil
	}
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if !r.allows(dir, target, strings.HasSuffix(name, "_test.go"), rooms) {
			faults = append(faults, fmt.Sprintf("%s: %s must not import %s", name, dir, target))
		}
	}
	return faults, nil
}

// allows reports whether a file of the room at dir may import target.
func (r room) allows(dir, target string, test bool, rooms map[string]room) bool {
	if target == "C" {
		return r.c
	}
	allowed := r.imports
	if test {
		allowed = slices.Concat(allowed, r.tests, testLibraries)
	}
	if to, ok := strings.CutPrefix(target, module+"/"); ok {
		return !rooms[to].main && (slices.Contains(allowed, to) || test && to == dir)
	}
	if !test && (target == "text/template" || target == "html/template") {
		return r.main // their calls of methods keep every method in the binary: see console/assets.go
	}
	first, _, _ := strings.Cut(target, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(allowed, func(lib string) bool {
		return target == lib || strings.HasPrefix(target, lib+"/")
	})
}
