package archtest

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
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
// aside: of what another file declares at its top level, and of its methods. Other
// packages are not read, so a method of a value that comes out of one of their generic
// functions is not found. Names that files for several systems declare do not count.
func fileArrows(tree fs.FS, dir string) (map[arrow]bool, error) {
	names, err := fs.Glob(tree, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(fset, path.Base(name), src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if !ast.IsGenerated(file) {
			files = append(files, file)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: unread{}, FakeImportC: true, Error: func(error) {}} // most errors come from packages that were not read
	pkg, _ := conf.Check(dir, fset, files, info)
	for _, file := range files {
		useArguments(file, pkg, info)
	}
	homes := homes(files)
	arrows := map[arrow]bool{}
	for id, of := range info.Uses {
		if f, is := of.(*types.Func); is {
			of = f.Origin()
		}
		if of.Pkg() != pkg || homes[of.Pos()] > 1 {
			continue
		}
		if _, declared := homes[of.Pos()]; !declared {
			continue
		}
		if a := (arrow{fset.File(id.Pos()).Name(), fset.File(of.Pos()).Name()}); a.from != a.to {
			arrows[a] = true
		}
	}
	return arrows, nil
}

// useArguments adds the types of the package that are arguments of a generic type of another
// package, as in lru.Cache[key]: go/types does not look at them where it does not know the
// generic type.
func useArguments(file *ast.File, pkg *types.Package, info *types.Info) {
	ast.Inspect(file, func(n ast.Node) bool {
		var args []ast.Expr
		switch n := n.(type) {
		case *ast.IndexExpr:
			args = []ast.Expr{n.Index}
		case *ast.IndexListExpr:
			args = n.Indices
		}
		for _, arg := range args {
			if star, is := arg.(*ast.StarExpr); is {
				arg = star.X
			}
			if id, is := arg.(*ast.Ident); is && info.Uses[id] == nil {
				if of := pkg.Scope().Lookup(id.Name); of != nil {
					info.Uses[id] = of
				}
			}
		}
		return true
	})
}

// unread imports packages as if they were empty, but for sync/atomic, whose pointers have
// types of the package that uses them.
type unread struct{}

func (unread) Import(name string) (*types.Package, error) {
	if name == "sync/atomic" {
		return atomics()
	}
	pkg := types.NewPackage(name, path.Base(name))
	pkg.MarkComplete()
	return pkg, nil
}

// atomics are the types of sync/atomic that count. Its source is not at hand in a test that is built
// with -trimpath.
var atomics = sync.OnceValues(func() (*types.Package, error) {
	const src = `package atomic
type Pointer[T any] struct{}
func (*Pointer[T]) Load() (p *T) { return }
func (*Pointer[T]) Swap(*T) (p *T) { return }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "atomic.go", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return (&types.Config{}).Check("sync/atomic", fset, []*ast.File{file}, nil)
})

// homes are the places where files declare names at their top level, and methods, with the
// number of places that declare the same one.
func homes(files []*ast.File) map[token.Pos]int {
	places := map[string][]token.Pos{}
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = types.ExprString(d.Recv.List[0].Type) + "." + name
				}
				places[strings.TrimPrefix(name, "*")] = append(places[strings.TrimPrefix(name, "*")], d.Name.Pos())
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						places[spec.Name.Name] = append(places[spec.Name.Name], spec.Name.Pos())
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							places[id.Name] = append(places[id.Name], id.Pos())
						}
					}
				}
			}
		}
	}
	counts := map[token.Pos]int{}
	for _, all := range places {
		for _, at := range all {
			counts[at] = len(all)
		}
	}
	return counts
}

// backUp returns the arrows that run back up when files are put into the order that the
// greedy rule of Eades, Lin and Smyth (1993) finds: from users down to their dependencies.
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
