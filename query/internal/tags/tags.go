// Package tags moves the cells of a row into the fields of a struct, and back, by the
// fields' tags. Package query describes the tags, at [query.Row.Into].
package tags

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A role is what a field holds.
type role int

const (
	rowKey    role = iota
	newest         // the newest version of a column
	versions       // all versions of a column
	timestamp      // of the newest version of a column
	family         // the newest versions of all columns of a family, by qualifier
)

// A field is a tagged field of a struct.
type field struct {
	index             []int
	name              string // Type.Field, for errors
	role              role
	family, qualifier string
	// item is the type of a value: the field's, or what its pointer, slice or map holds.
	item reflect.Type
}

func (f *field) column() string { return f.family + ":" + f.qualifier }

var (
	valueType     = reflect.TypeFor[cells.Value]()
	cellType      = reflect.TypeFor[cells.Cell]()
	timeType      = reflect.TypeFor[time.Time]()
	timestampType = reflect.TypeFor[cells.Timestamp]()
)

var known sync.Map // reflect.Type to *layout

type layout struct {
	fields []field
	err    error
}

// fieldsOf returns the fields of a struct that have tags, also within embedded structs.
func fieldsOf(t reflect.Type) ([]field, error) {
	if l, ok := known.Load(t); ok {
		return l.(*layout).fields, l.(*layout).err
	}
	fields, err := parse(t)
	if err == nil && len(fields) == 0 {
		err = fault.Errorf(fault.InvalidArgument, `no field of %s has a tag such as smolwc:"family:qualifier"`, t)
	}
	known.Store(t, &layout{fields, err})
	return fields, err
}

func parse(t reflect.Type) (all []field, err error) {
	type held struct {
		role   role
		column string
	}
	taken := map[held]string{}
	for _, sf := range reflect.VisibleFields(t) {
		tag, ok := sf.Tag.Lookup("smolwc")
		if !ok || tag == "-" {
			continue
		}
		f := field{index: sf.Index, name: strings.TrimPrefix(t.Name()+"."+sf.Name, ".")}
		if err := f.parse(sf, tag); err != nil {
			return nil, err
		}
		what := held{f.role, f.column()}
		if f.role == versions {
			what.role = newest // both are the column's
		}
		if other, ok := taken[what]; ok {
			return nil, fault.Errorf(fault.InvalidArgument, "%s and %s have one tag: %q", other, f.name, tag)
		}
		taken[what] = f.name
		all = append(all, f)
	}
	for _, f := range all {
		for _, g := range all {
			if f.role == family && (g.role == newest || g.role == versions) && f.family == g.family {
				return nil, fault.Errorf(fault.InvalidArgument, "%s holds the whole family %s, and %s a column of it; leave one out", f.name, f.family, g.name)
			}
		}
	}
	return all, nil
}

func (f *field) parse(sf reflect.StructField, tag string) error {
	wrong := func(format string, args ...any) error {
		return fault.Errorf(fault.InvalidArgument, "%s, with the tag %q, %s", f.name, tag, fmt.Sprintf(format, args...))
	}
	if !sf.IsExported() {
		return wrong("is not exported")
	}
	t := sf.Type
	name, option, hasOption := strings.Cut(tag, ",")
	column := false
	f.family, f.qualifier, column = strings.Cut(name, ":")
	switch {
	case hasOption && (option != "timestamp" || !column):
		return wrong(`has %q; want "family:qualifier,timestamp", or no comma`, ","+option)
	case hasOption:
		f.role = timestamp
		if t != timeType && t != timestampType {
			return wrong("is of type %s; want cells.Timestamp or time.Time", t)
		}
		return nil
	case f.family == "":
		return wrong("names no family")
	case column:
		f.role, f.item = newest, t
		switch {
		case t.Kind() == reflect.Pointer:
			f.item = t.Elem()
		case t.Kind() == reflect.Slice && !isBytes(t):
			f.role, f.item = versions, t.Elem()
		}
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		f.role, f.item = family, t.Elem()
	case name == "key":
		f.role = rowKey
		if t.Kind() != reflect.String && !isBytes(t) {
			return wrong("is of type %s; want string or []byte", t)
		}
		return nil
	default:
		return wrong(`is of type %s; want a map by string for a whole family, or a tag such as "%s:qualifier"`, t, f.family)
	}
	if typeOf(f.item) == cells.TypeAny && f.item != valueType && f.item != cellType {
		return wrong("holds %s; want string, bool, uint8, int32, int64, int, float32, float64, []byte, cells.Value or cells.Cell", f.item)
	}
	return nil
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// typeOf is the type of the values that a Go type holds, TypeAny if it holds none.
func typeOf(t reflect.Type) cells.Type {
	switch t.Kind() {
	case reflect.String:
		return cells.TypeString
	case reflect.Bool:
		return cells.TypeBool
	case reflect.Uint8:
		return cells.TypeByte
	case reflect.Int32:
		return cells.TypeI32
	case reflect.Int64, reflect.Int:
		return cells.TypeI64
	case reflect.Float32:
		return cells.TypeF32
	case reflect.Float64:
		return cells.TypeF64
	case reflect.Slice:
		if isBytes(t) {
			return cells.TypeBytes
		}
	}
	return cells.TypeAny
}
