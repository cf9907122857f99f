package message

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Breaks says what queries and messages of the old bundle could not read with the new
// one; it is nil if nothing breaks. Added messages, fields and values of enums break
// nothing.
func Breaks(old, changed *Bundle) error {
	before, after := old.types(), changed.types()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		var err error
		switch was := before[name].(type) {
		case protoreflect.MessageDescriptor:
			now, ok := after[name].(protoreflect.MessageDescriptor)
			if !ok {
				return fmt.Errorf("message %s is removed", name)
			}
			err = breaksMessage(was, now)
		case protoreflect.EnumDescriptor:
			now, ok := after[name].(protoreflect.EnumDescriptor)
			if !ok {
				return fmt.Errorf("enum %s is removed", name)
			}
			err = breaksEnum(was, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func breaksMessage(was, now protoreflect.MessageDescriptor) error {
	for i := range was.Fields().Len() {
		f := was.Fields().Get(i)
		g := now.Fields().ByNumber(f.Number())
		switch {
		case g == nil:
			return fmt.Errorf("field %s, number %d, is removed", f.FullName(), f.Number())
		case g.Name() != f.Name():
			return fmt.Errorf("field %s, number %d, is renamed to %s", f.FullName(), f.Number(), g.Name())
		case shape(g) != shape(f) && !slices.Contains(widened[shape(f)], shape(g)):
			return fmt.Errorf("field %s changes from %s to %s", f.FullName(), shape(f), shape(g))
		case g.Default().String() != f.Default().String():
			return fmt.Errorf("the default of field %s changes", f.FullName())
		case f.HasPresence() && !g.HasPresence():
			return fmt.Errorf("field %s can no longer be known to be set", f.FullName())
		case oneof(g) != oneof(f):
			return fmt.Errorf("field %s moves into or out of a oneof", f.FullName())
		}
	}
	for i := range now.Fields().Len() {
		if g := now.Fields().Get(i); g.Cardinality() == protoreflect.Required && !requires(was, g) {
			return fmt.Errorf("field %s becomes required", g.FullName())
		}
	}
	return nil
}

func requires(m protoreflect.MessageDescriptor, g protoreflect.FieldDescriptor) bool {
	f := m.Fields().ByNumber(g.Number())
	return f != nil && f.Cardinality() == protoreflect.Required
}

// widened are the types that can take the place of another one: they read its encoding
// as the same numbers.
var widened = map[string][]string{"int32": {"int64"}, "sint32": {"sint64"}, "uint32": {"uint64", "int64"}}

// shape is the type of a field as declared.
func shape(f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	switch {
	case f.Message() != nil:
		kind = string(f.Message().FullName())
	case f.Enum() != nil:
		kind = string(f.Enum().FullName())
	}
	switch {
	case f.IsMap():
		return "map<" + shape(f.MapKey()) + ", " + shape(f.MapValue()) + ">"
	case f.IsList():
		return "repeated " + kind
	}
	return kind
}

// oneof is the name of the field's oneof, "" for a field outside of them.
func oneof(f protoreflect.FieldDescriptor) protoreflect.Name {
	if of := f.ContainingOneof(); of != nil && !of.IsSynthetic() {
		return of.Name()
	}
	return ""
}

func breaksEnum(was, now protoreflect.EnumDescriptor) error {
	for i := range was.Values().Len() {
		v := was.Values().Get(i)
		w := now.Values().ByName(v.Name())
		switch {
		case w == nil:
			return fmt.Errorf("value %s of enum %s is removed", v.Name(), was.FullName())
		case w.Number() != v.Number():
			return fmt.Errorf("value %s of enum %s changes its number from %d to %d", v.Name(), was.FullName(), v.Number(), w.Number())
		}
	}
	return nil
}
