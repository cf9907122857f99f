// Package function is the functions of SQL that compute a value from values. Each comes
// with its signature as text, from which types are checked and messages are made.
package function

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/smolwc/smolwc/sql/value"
)

// A Function is one form of a function. It is NULL when an argument is, unless Nulls is set.
type Function struct {
	Name     string
	Text     string // the signature, such as LEFT(STRING, INT64) STRING
	Args     []value.Type
	Required int  // how many arguments there must be
	Repeats  bool // the last argument may be repeated
	Part     int  // the argument that is a PART, a STRING in a call; -1: no argument is
	Nulls    bool // it takes NULL, and is not always NULL for one
	Result   value.Type
	call     func(ctx context.Context, args []any) (any, error)
}

// Call computes the value. The end of the context ends a call that takes long.
func (f *Function) Call(ctx context.Context, args []any) (any, error) {
	return Run(ctx, args, func(args []any) (any, error) { return f.call(ctx, args) })
}

var byName = sync.OnceValue(func() map[string][]*Function {
	all := map[string][]*Function{}
	add := func(signature string, call func(ctx context.Context, args []any) (any, error)) {
		f := read(signature)
		f.call = call
		all[f.Name] = append(all[f.Name], f)
	}
	for _, list := range [][]declaration{texts, numbers, documents, converters, times, datetimes, intervals, buckets, angles, exacts, codes, codings} {
		for _, d := range list {
			add(d.signature, func(_ context.Context, args []any) (any, error) { return d.call(args) })
		}
	}
	for _, d := range partial {
		add(d.signature, func(_ context.Context, args []any) (any, error) { return d.call(args) })
		name, _, _ := strings.Cut(d.signature, "(")
		all[name][len(all[name])-1].Nulls = true
	}
	for _, d := range slices.Concat(patterns, distances, series, parsers) {
		add(d.signature, d.call)
	}
	for _, d := range ofBytes(all) {
		add(d.signature, d.call)
	}
	return all
})

// Named are the forms of a function, in the order in which they are tried.
func Named(name string) []*Function { return byName()[name] }

// Names are the names of all functions, sorted.
func Names() []string {
	var names []string
	for name := range byName() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// read reads a signature.
func read(signature string) *Function {
	name, rest, _ := strings.Cut(signature, "(")
	args, result, _ := strings.Cut(rest, ") ")
	args = strings.ReplaceAll(args, "INTERVAL INT64 PART", "INT64, PART")
	before, _, part := strings.Cut(args, "PART")
	f := &Function{Name: name, Text: signature, Result: typeOf(result), Part: -1}
	if part {
		f.Part = strings.Count(before, ", ") + strings.Count(before, "[")
	}
	required, optional, _ := strings.Cut(args, "[")
	for _, arg := range strings.Split(required, ", ") {
		arg, f.Repeats = strings.CutSuffix(arg, "…")
		f.Args = append(f.Args, typeOf(arg))
	}
	f.Required = len(f.Args)
	for _, arg := range strings.Split(strings.TrimSuffix(optional, "]"), ", ") {
		if arg != "" {
			f.Args = append(f.Args, typeOf(arg))
		}
	}
	return f
}

func typeOf(name string) value.Type {
	if of, ok := strings.CutPrefix(name, "ARRAY<"); ok {
		return value.ArrayOf(typeOf(strings.TrimSuffix(of, ">")))
	}
	if name == "PART" {
		return value.Type{Kind: value.TypeString}
	}
	return value.Type{Kind: value.TypeNames[name]}
}

// Takes reports whether the form takes this number of arguments.
func (f *Function) Takes(args int) bool {
	return args >= f.Required && (f.Repeats || args <= len(f.Args))
}

// Arg is the type of an argument, counted from 0.
func (f *Function) Arg(i int) value.Type { return f.Args[min(i, len(f.Args)-1)] }
