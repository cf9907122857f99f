package message

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// smallMessage is the size up to which messages need no count of their parts.
const smallMessage = 1 << 20

// Decode reads an encoded message of a type.
func Decode(t value.Type, b []byte) (protoreflect.Message, error) {
	if len(b) > MaxMessage {
		return nil, parse.Invalid("a %s of %d bytes is too large for a query; it may have up to %d", t.Proto.Name, len(b), MaxMessage)
	}
	of := t.Proto.Of.(protoreflect.MessageDescriptor)
	if len(b) > smallMessage && parts(of, b, 0) > maxParts {
		return nil, parse.Invalid("a %s has more than %d messages in it, or has groups, or is nested too deeply for a query", t.Proto.Name, maxParts)
	}
	m := dynamicpb.NewMessage(of)
	if err := (proto.UnmarshalOptions{Resolver: noTypes}).Unmarshal(b, m); err != nil {
		return nil, parse.Invalid("bytes are not a valid %s: %s", t.Proto.Name, plain(err))
	}
	return m, nil
}

// Encode is a message as the value of an expression.
func Encode(m protoreflect.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m.Interface())
	if err != nil {
		return nil, parse.Invalid("%s", plain(err))
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// A Field is a field of a message type, or has_ and the name of one: whether it is set.
type Field struct {
	Type value.Type
	Has  bool

	of     protoreflect.FieldDescriptor
	bundle string
}

// FieldOf finds a field by its name in a query. It fails if the message lacks the field,
// or cannot know whether it is set.
func FieldOf(t value.Type, name string) (*Field, error) {
	fields := t.Proto.Of.(protoreflect.MessageDescriptor).Fields()
	if of := byName(fields, name); of != nil {
		return &Field{Type: fieldType(t.Proto.Bundle, of), of: of, bundle: t.Proto.Bundle}, nil
	}
	of := (protoreflect.FieldDescriptor)(nil)
	if len(name) > len("has_") && strings.EqualFold(name[:len("has_")], "has_") {
		of = byName(fields, name[len("has_"):])
	}
	switch {
	case of == nil:
		return nil, parse.Invalid("%s has no field %q; it has %s", t, name, fieldNames(fields))
	case !of.HasPresence():
		return nil, parse.Invalid("%s cannot know whether %s is set: the field is repeated, or is a field of proto3 without optional", t, of.Name())
	}
	return &Field{Type: value.Type{Kind: value.TypeBool}, Has: true, of: of}, nil
}

func byName(fields protoreflect.FieldDescriptors, name string) protoreflect.FieldDescriptor {
	if of := fields.ByName(protoreflect.Name(name)); of != nil {
		return of
	}
	for i := range fields.Len() { // case does not matter
		if parse.Same(string(fields.Get(i).Name()), name) {
			return fields.Get(i)
		}
	}
	return nil
}

// fieldNames lists fields in messages.
func fieldNames(fields protoreflect.FieldDescriptors) string {
	return listed(fields.Len(), func(i int) protoreflect.Name { return fields.Get(i).Name() })
}

// listed are the first of n names.
func listed(n int, name func(int) protoreflect.Name) string {
	if n == 0 {
		return "nothing"
	}
	const most = 20
	var names []string
	for i := range min(n, most) {
		names = append(names, excerpt.Of(string(name(i))))
	}
	if n > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// Fields are the fields of a message type, in the order of its declaration.
func Fields(t value.Type) (names []string) {
	fields := t.Proto.Of.(protoreflect.MessageDescriptor).Fields()
	for i := range fields.Len() {
		names = append(names, string(fields.Get(i).Name()))
	}
	return names
}

func fieldType(bundle string, of protoreflect.FieldDescriptor) value.Type {
	if of.IsList() || of.IsMap() {
		return value.ArrayOf(oneType(bundle, of))
	}
	return oneType(bundle, of)
}

// oneType is the type of a field, or of one element of it.
func oneType(bundle string, of protoreflect.FieldDescriptor) value.Type {
	switch of.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return messageType(bundle, of.Message())
	case protoreflect.EnumKind:
		return enumType(bundle, of.Enum())
	case protoreflect.BoolKind:
		return value.Type{Kind: value.TypeBool}
	case protoreflect.StringKind:
		return value.Type{Kind: value.TypeString}
	case protoreflect.BytesKind:
		return value.Type{Kind: value.TypeBytes}
	case protoreflect.FloatKind:
		return value.Type{Kind: value.TypeFloat32}
	case protoreflect.DoubleKind:
		return value.Type{Kind: value.TypeFloat64}
	}
	return value.Type{Kind: value.TypeInt64}
}

// Get is the field's value in a message: the default of a scalar that is not set, nil for
// a message that is not set.
func (f *Field) Get(m protoreflect.Message) (any, error) {
	switch {
	case f.Has:
		return m.Has(f.of), nil
	case f.of.IsMap():
		return entries(f.of, m.Get(f.of).Map())
	case f.of.IsList():
		list := m.Get(f.of).List()
		all := make(value.Array, list.Len())
		for i := range all {
			var err error
			if all[i], err = valueOf(f.of, list.Get(i)); err != nil {
				return nil, err
			}
		}
		return all, nil
	case f.of.Message() != nil && !m.Has(f.of):
		return nil, nil
	}
	return valueOf(f.of, m.Get(f.of))
}

// Message is the value of a field that is a message, nil when it is not set.
func (f *Field) Message(m protoreflect.Message) protoreflect.Message {
	if !m.Has(f.of) {
		return nil
	}
	return m.Get(f.of).Message()
}

// KeyType is the type of the keys of a field that is a map; ok is false for other fields.
func (f *Field) KeyType() (t value.Type, ok bool) {
	if f.Has || !f.of.IsMap() {
		return t, false
	}
	return oneType(f.bundle, f.of.MapKey()), true
}

// EntryType is the type of the values of a field that is a map.
func (f *Field) EntryType() value.Type { return oneType(f.bundle, f.of.MapValue()) }

// Entry is the value of a key in a map; ok is false if the map lacks the key.
func (f *Field) Entry(m protoreflect.Message, key any) (v any, ok bool, err error) {
	k, fits := mapKey(f.of.MapKey().Kind(), key)
	if !fits || !m.Get(f.of).Map().Has(k) {
		return nil, false, nil
	}
	v, err = valueOf(f.of.MapValue(), m.Get(f.of).Map().Get(k))
	return v, true, err
}

// mapKey is a value as a key of a map; ok is false if the value does not fit the kind.
func mapKey(kind protoreflect.Kind, key any) (k protoreflect.MapKey, ok bool) {
	var v protoreflect.Value
	switch key := key.(type) {
	case string:
		v = protoreflect.ValueOfString(key)
	case bool:
		v = protoreflect.ValueOfBool(key)
	case int64:
		switch kind {
		case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
			v = protoreflect.ValueOfInt64(key)
		case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
			v, ok = protoreflect.ValueOfUint64(uint64(key)), key >= 0
			return v.MapKey(), ok
		case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
			v, ok = protoreflect.ValueOfUint32(uint32(key)), key >= 0 && key <= math.MaxUint32
			return v.MapKey(), ok
		default:
			v, ok = protoreflect.ValueOfInt32(int32(key)), key >= math.MinInt32 && key <= math.MaxInt32
			return v.MapKey(), ok
		}
	}
	return v.MapKey(), true
}

// entries are the entries of a map as messages of a key and a value, sorted by the keys.
func entries(of protoreflect.FieldDescriptor, m protoreflect.Map) (any, error) {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, compareKeys)
	all := make(value.Array, len(keys))
	for i, k := range keys {
		entry := dynamicpb.NewMessage(of.Message())
		entry.Set(of.MapKey(), k.Value())
		entry.Set(of.MapValue(), m.Get(k))
		var err error
		if all[i], err = Encode(entry); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func compareKeys(a, b protoreflect.MapKey) int {
	switch x := a.Interface().(type) {
	case string:
		return strings.Compare(x, b.String())
	case bool:
		return cmp.Compare(map[bool]int{true: 1}[x], map[bool]int{true: 1}[b.Bool()])
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	}
	return cmp.Compare(a.Uint(), b.Uint())
}

// valueOf is a value of a message as one of SQL.
func valueOf(of protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	switch of.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return Encode(v.Message())
	case protoreflect.EnumKind:
		return int64(v.Enum()), nil
	case protoreflect.BoolKind:
		return v.Bool(), nil
	case protoreflect.StringKind:
		if s := v.String(); utf8.ValidString(s) {
			return s, nil
		}
		return nil, parse.Invalid("%s has bytes that are not valid UTF-8", of.FullName())
	case protoreflect.BytesKind:
		return v.Bytes(), nil
	case protoreflect.FloatKind:
		return float32(v.Float()), nil
	case protoreflect.DoubleKind:
		return v.Float(), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return int64(v.Uint()), nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if n := v.Uint(); n > math.MaxInt64 {
			return nil, parse.Invalid("%s is %d, which is out of the range of INT64", of.FullName(), n)
		}
		return int64(v.Uint()), nil
	}
	return v.Int(), nil
}
