// Package nilcheck calls everything that a package exports, functions and methods,
// with nil, with zero values and with usable ones. No call may panic. A test lists the
// package's functions; their parameters and results lead to its types, and these to
// their methods. A function or type that is left out fails the test.
package nilcheck

import (
	"fmt"
	"io"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Package is a package under test.
type Package struct {
	// Funcs are all exported functions of the package.
	Funcs []any
	// Types are zero values of exported types that no signature leads to.
	Types []any
	// Usable are functions of type func(testing.TB) T. Each makes a usable value of
	// its type T, for one function or method under test. Other types have a value of
	// their own: numbers are 1, strings are "t", and functions do nothing.
	Usable []any
	// Fresh are like Usable, and make a value for each call: one call may end it.
	Fresh []any
	// Judge is asked about each call; an answer other than "" fails the test.
	Judge func(Call) string
	// Skip names functions and methods that are not called, with the reason.
	Skip map[string]string
}

// A Call is one call and its outcome. One argument may be spoilt: it is nil or zero, or
// another call made it from nil. All other arguments are usable.
type Call struct {
	Name   string       // "Open", or "DB.Close"; a method's receiver is its first argument
	Spoilt reflect.Type // of the spoilt argument; nil if all are usable
	Nil    bool         // the spoilt argument is nil or zero
	Fails  bool         // the function returns an error, or a sequence with errors
	Err    error        // the first error that it returned
}

// Run makes the calls. dir is the folder of the package's source.
func (p *Package) Run(t *testing.T, dir string) {
	r := newRunner(p, t)
	r.checkComplete(t, dir)
	t.Chdir(t.TempDir())
	for round := range 2 {
		for _, f := range r.funcs {
			t.Run(fmt.Sprintf("%d/%s", round, f.name), func(t *testing.T) { r.vary(t, f) })
		}
		r.made, r.making = r.making, map[string][]reflect.Value{}
	}
}

// Calls are calls of all functions and methods, each with usable arguments.
func (p *Package) Calls(t testing.TB) (calls []func()) {
	t.Chdir(t.TempDir()) // "t" is a path, too
	r := newRunner(p, t)
	for _, f := range r.funcs {
		calls = append(calls, func() {
			args := &arguments{t, r, map[reflect.Type]reflect.Value{}}
			r.call(t, f, args.all(f), Call{Name: f.name})
		})
	}
	return calls
}

// A function is a function, or a method with its receiver as the first argument.
type function struct {
	name string
	call reflect.Value
}

type runner struct {
	*Package
	t      testing.TB // of all calls
	path   string
	funcs  []function
	types  []reflect.Type
	seen   map[reflect.Type]bool
	made   map[string][]reflect.Value // in the last round, by the function that made them
	mu     sync.Mutex
	making map[string][]reflect.Value
}

func newRunner(p *Package, t testing.TB) *runner {
	r := &runner{Package: p, t: t, seen: map[reflect.Type]bool{}, making: map[string][]reflect.Value{}}
	if len(p.Types) > 0 {
		r.path = reflect.TypeOf(p.Types[0]).PkgPath()
	}
	for _, f := range p.Funcs {
		path, name := splitName(f)
		r.path = path
		r.funcs = append(r.funcs, function{name, reflect.ValueOf(f)})
	}
	for _, f := range p.Funcs {
		r.visit(reflect.TypeOf(f))
	}
	for _, v := range p.Types {
		r.visit(reflect.TypeOf(v))
	}
	r.funcs = slices.DeleteFunc(r.funcs, func(f function) bool { return p.Skip[f.name] != "" })
	return r
}

// splitName is the path of a function's package, and the function's own name.
func splitName(f any) (path, name string) {
	full := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	full = strings.TrimSuffix(full, "[...]") // of a generic function
	dot := strings.LastIndex(full, ".")
	return full[:dot], full[dot+1:]
}

// visit finds the types of the package, and their methods, that a type leads to.
func (r *runner) visit(t reflect.Type) {
	if r.seen[t] {
		return
	}
	r.seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
		r.visit(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() {
				r.visit(f.Type)
			}
		}
	case reflect.Func:
		for in := range t.Ins() {
			r.visit(in)
		}
		for out := range t.Outs() {
			r.visit(out)
		}
	}
	if t.PkgPath() == r.path && t.Name() != "" {
		r.addType(t)
	}
}

func (r *runner) addType(t reflect.Type) {
	r.types = append(r.types, t)
	for m := range t.Methods() {
		r.addMethod(t, m)
	}
	if t.Kind() == reflect.Interface {
		return
	}
	for m := range reflect.PointerTo(t).Methods() {
		if _, byValue := t.MethodByName(m.Name); !byValue {
			r.addMethod(t, m)
		}
	}
}

func (r *runner) addMethod(t reflect.Type, m reflect.Method) {
	r.visit(m.Type)
	if t.Kind() == reflect.Interface {
		return
	}
	file, _ := runtime.FuncForPC(m.Func.Pointer()).FileLine(m.Func.Pointer())
	forTests, promoted := strings.HasSuffix(file, "_test.go"), file == "<autogenerated>"
	if !forTests && !promoted {
		r.funcs = append(r.funcs, function{t.Name() + "." + m.Name, m.Func})
	}
}

// vary calls a function with each argument spoilt in each way, and with all of them
// nil.
func (r *runner) vary(t *testing.T, f function) {
	args := &arguments{t, r, map[reflect.Type]reflect.Value{}}
	typ := f.call.Type()
	var none []reflect.Value
	for i := range typ.NumIn() {
		if in := typ.In(i); typ.IsVariadic() && i == typ.NumIn()-1 {
			none = append(none, slicesOf(in, reflect.Zero(in.Elem())))
		} else {
			none = append(none, reflect.Zero(in))
		}
		for _, v := range args.spoilt(typ.In(i)) {
			if typ.IsVariadic() && i == typ.NumIn()-1 && v.Len() == 0 {
				continue // an empty list of options is valid
			}
			in := args.all(f)
			in[i] = v
			r.call(t, f, in, Call{Name: f.name, Spoilt: typ.In(i), Nil: v.IsZero()})
		}
	}
	r.call(t, f, args.all(f), Call{Name: f.name})
	if len(none) > 0 {
		r.call(t, f, none, Call{Name: f.name, Spoilt: typ.In(0), Nil: true})
	}
}

func (r *runner) call(t testing.TB, f function, in []reflect.Value, c Call) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s(%s) panics: %v\n%s", f.name, describe(in), p, debug.Stack())
		}
	}()
	call := f.call.Call
	if f.call.Type().IsVariadic() {
		call = f.call.CallSlice
	}
	for _, out := range call(in) {
		r.take(&c, out)
	}
	if r.Judge != nil {
		if wrong := r.Judge(c); wrong != "" {
			t.Errorf("%s(%s): %s; error: %v", f.name, describe(in), wrong, c.Err)
		}
	}
}

// mostOf is how many results of a function are kept for other calls, and how many
// elements of a sequence are read.
const mostOf = 8

var errorType = reflect.TypeFor[error]()

// take looks at one result of a call, and keeps it for other calls.
func (r *runner) take(c *Call, out reflect.Value) {
	typ := out.Type()
	switch {
	case typ == errorType:
		c.Fails = true
		if err, _ := out.Interface().(error); err != nil && c.Err == nil {
			c.Err = err
		}
	case typ.Kind() == reflect.Func && typ.CanSeq2():
		c.Fails = c.Fails || typ.In(0).In(1) == errorType
		n := 0
		for k, v := range out.Seq2() {
			r.take(c, k)
			r.take(c, v)
			if n++; n == mostOf {
				break
			}
		}
	case typ.Kind() == reflect.Func && typ.CanSeq():
		n := 0
		for v := range out.Seq() {
			r.take(c, v)
			if n++; n == mostOf {
				break
			}
		}
	case r.isOwn(typ) && !out.IsZero():
		r.keep(c.Name, out)
	}
}

func (r *runner) keep(maker string, v reflect.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := v.Interface().(io.Closer); ok {
		r.t.Cleanup(func() { c.Close() })
	}
	if len(r.making[maker]) < mostOf {
		r.making[maker] = append(r.making[maker], v)
	}
}

// isOwn reports whether a type is one of the package, or a pointer to one.
func (r *runner) isOwn(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == r.path
}

func describe(in []reflect.Value) string {
	var parts []string
	for _, v := range in {
		text := v.Type().String()
		if v.IsZero() {
			text = "zero " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
