package archtest

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// An arrow says that one file or folder uses another one.
type arrow struct{ from, to string }

// folderArrows are the imports between the top folders of the table's rooms, tests aside.
func folderArrows(rooms map[string]room) map[arrow]bool {
	arrows := map[arrow]bool{}
	for dir, r := range rooms {
		for _, to := range r.imports {
			if _, ok := rooms[to]; ok && top(dir) != top(to) {
				arrows[arrow{top(dir), top(to)}] = true
			}
		}
	}
	return arrows
}

func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// cycles returns the ends of arrows that lie on a cycle, sorted.
func cycles(arrows map[arrow]bool) []string {
	to := map[string][]string{}
	for a := range arrows {
		to[a.from] = append(to[a.from], a.to)
	}
	var found []string
	for start := range to {
		seen, next := map[string]bool{}, slices.Clone(to[start])
		for len(next) > 0 {
			n := next[len(next)-1]
			next = next[:len(next)-1]
			if !seen[n] {
				seen[n] = true
				next = append(next, to[n]...)
			}
		}
		if seen[start] {
			found = append(found, start)
		}
	}
	slices.Sort(found)
	return found
}

// fileArrows are the uses between the files of a package, tests and generated files
// aside. They are found by name: a use of a name that another file declares at its top
// level, or of a method that only one other file declares. Names within a function that
// hide one of these count too, so the number is near the truth, not equal to it.
func fileArrows(tree fs.FS, dir string) (map[arrow]bool, error) {
	names, err := fs.Glob(tree, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if !ast.IsGenerated(file) {
			files[path.Base(name)] = file
		}
	}
	top, methods := declarations(files)
	arrows := map[arrow]bool{}
	for from, file := range files {
		use := func(homes []string) {
			if len(homes) == 1 && homes[0] != from { // files for systems declare a name twice
				arrows[arrow{from, homes[0]}] = true
			}
		}
		imported := map[string]bool{}
		for _, spec := range file.Imports {
			if spec.Name != nil {
				imported[spec.Name.Name] = true
			} else if name, err := strconv.Unquote(spec.Path.Value); err == nil {
				imported[path.Base(name)] = true
			}
		}
		selected := map[*ast.Ident]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				selected[n.Sel] = true
				if of, ok := n.X.(*ast.Ident); !ok || !imported[of.Name] {
					use(methods[n.Sel.Name])
				}
			case *ast.Ident:
				if !selected[n] && n != file.Name { // a type may have the name of its package
					use(top[n.Name])
				}
			}
			return true
		})
	}
	return arrows, nil
}

// declarations returns which files declare a name at their top level, and which a method.
func declarations(files map[string]*ast.File) (top, methods map[string][]string) {
	top, methods = map[string][]string{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, d := range files[name].Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[d.Name.Name] = append(methods[d.Name.Name], name)
				} else {
					top[d.Name.Name] = append(top[d.Name.Name], name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						top[spec.Name.Name] = append(top[spec.Name.Name], name)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							top[id.Name] = append(top[id.Name], name)
						}
					}
				}
			}
		}
	}
	return top, methods
}

// backUp returns the arrows that run back up when files are put into the order that the
// greedy rule of Eades, Lin and Smyth (1993) finds: from users down to what they use.
func backUp(arrows map[arrow]bool) []arrow {
	left := map[string]bool{}
	for a := range arrows {
		left[a.from], left[a.to] = true, true
	}
	var upper, lower []string
	for len(left) > 0 {
		in, out := map[string]int{}, map[string]int{}
		for a := range arrows {
			if left[a.from] && left[a.to] {
				out[a.from]++
				in[a.to]++
			}
		}
		files := slices.Sorted(maps.Keys(left))
		if i := slices.IndexFunc(files, func(f string) bool { return out[f] == 0 }); i >= 0 {
			lower = append(lower, files[i])
			delete(left, files[i])
			continue
		}
		next := slices.MaxFunc(files, func(a, b string) int {
			return cmp.Or(cmp.Compare(boolInt(in[a] == 0), boolInt(in[b] == 0)), cmp.Compare(out[a]-in[a], out[b]-in[b]))
		})
		upper = append(upper, next)
		delete(left, next)
	}
	slices.Reverse(lower)
	place := map[string]int{}
	for i, f := range append(upper, lower...) {
		place[f] = i
	}
	var back []arrow
	for a := range arrows {
		if place[a.from] > place[a.to] {
			back = append(back, a)
		}
	}
	slices.SortFunc(back, func(a, b arrow) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return back
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
