package message_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/value"
)

// Descriptors that are changed anywhere, in ways that no compiler does, are a bundle or an
// error; and messages of such a bundle can be read.
func TestHostileDescriptors(t *testing.T) {
	good := descriptors(t)
	album, _ := parsed(t, good).Type("music.Album")
	text := `title: "a" artist { name: "b" } sales { key: "k" value: 1 } discs: 1 vinyl: "v" genres: 7 tracks { seconds: 5 } label { name: "l" }`
	bytes, err := message.Cast(text, value.Type{Kind: value.TypeString}, album)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	rapid.Check(t, func(r *rapid.T) {
		set := proto.Clone(good)
		for range rapid.IntRange(1, 6).Draw(r, "changes") {
			distort(r, set.ProtoReflect())
		}
		b, err := message.Parse("b", encoded(t, set))
		if err != nil {
			return
		}
		accepted++
		_ = message.Breaks(parsed(t, good), b)
		_ = message.Breaks(b, parsed(t, good))
		for _, name := range b.Names() {
			if typ, ok := b.Type(name); !ok {
				t.Errorf("%s has no type", name)
			} else if typ.Kind == value.TypeMessage {
				readAll(t, typ, bytes.([]byte))
			}
		}
	})
	if accepted == 0 && !testing.Short() { // with -short rapid tries a fifth as many
		t.Error("no set was accepted")
	}
}

// distort changes a random part of a message.
func distort(r *rapid.T, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	var set []protoreflect.FieldDescriptor
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		set = append(set, f)
		return true
	})
	f := fields.Get(rapid.IntRange(0, fields.Len()-1).Draw(r, "any field"))
	if len(set) > 0 && rapid.IntRange(0, 9).Draw(r, "is set") > 0 {
		f = fields.ByNumber(rapid.SampledFrom(numbers(set)).Draw(r, "field"))
	}
	if f.IsMap() {
		return
	}
	if !f.IsList() {
		if f.Message() != nil && rapid.IntRange(0, 9).Draw(r, "descend") > 0 {
			distort(r, m.Mutable(f).Message())
		} else if f.Message() == nil && rapid.Bool().Draw(r, "set") {
			m.Set(f, odd(r, f))
		} else {
			m.Clear(f)
		}
		return
	}
	list := m.Mutable(f).List()
	if list.Len() == 0 || rapid.IntRange(0, 9).Draw(r, "append") == 0 {
		if f.Message() != nil {
			list.AppendMutable()
		} else {
			list.Append(odd(r, f))
		}
		return
	}
	i := rapid.IntRange(0, list.Len()-1).Draw(r, "element")
	switch what := rapid.IntRange(0, 11).Draw(r, "what"); {
	case what == 0:
		list.Append(list.Get(i))
	case what == 1:
		list.Set(i, list.Get(list.Len()-1))
		list.Truncate(list.Len() - 1)
	case f.Message() != nil:
		distort(r, list.Get(i).Message())
	default:
		list.Set(i, odd(r, f))
	}
}

func numbers(fields []protoreflect.FieldDescriptor) (all []protoreflect.FieldNumber) {
	least := protoreflect.FieldNumber(0) // in the order of the numbers: a map has none
	for range fields {
		next := protoreflect.FieldNumber(1<<29 - 1)
		for _, f := range fields {
			if f.Number() > least && f.Number() < next {
				next = f.Number()
			}
		}
		all, least = append(all, next), next
	}
	return all
}

// odd is a value for a field.
func odd(r *rapid.T, f protoreflect.FieldDescriptor) protoreflect.Value {
	n := rapid.SampledFrom([]int64{0, 1, 2, 3, 5, 10, 11, 18, 100, 999, 1000, 19000, 536870911, -1, 1<<31 - 1}).Draw(r, "number")
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.SampledFrom([]string{"", "name", "title", ".music.Album", "music.Album", "Album", ".music.Genre", "POP", "music", "music.proto", "label.proto", "proto2", "proto3", "editions", "x", "1", "\xff", ".", "a..b", "cmd/protoc-gen-go/testdata/x.proto"}).Draw(r, "text"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("x"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n > 2)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n))
	}
	return protoreflect.ValueOfInt32(int32(n))
}
