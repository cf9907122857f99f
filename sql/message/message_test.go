package message_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/value"
)

// descriptors are those of testdata/music.txtpb.
func descriptors(t testing.TB) *descriptorpb.FileDescriptorSet {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "music.txtpb"))
	if err != nil {
		t.Fatal(err)
	}
	return ofText(t, string(text))
}

func ofText(t testing.TB, text string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := prototext.Unmarshal([]byte(text), set); err != nil {
		t.Fatal(err)
	}
	return set
}

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parsed(t testing.TB, set *descriptorpb.FileDescriptorSet) *message.Bundle {
	t.Helper()
	b, err := message.Parse("b", encoded(t, set))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSetsThatAreRefused(t *testing.T) {
	many := &descriptorpb.FileDescriptorSet{}
	for i := range 5001 {
		many.File = append(many.File, &descriptorpb.FileDescriptorProto{Name: proto.String(fmt.Sprint(i))})
	}
	const messageM = `message_type { name: "M" } `
	for _, c := range []struct {
		set  []byte
		want string
	}{
		{nil, "the set of descriptors is empty"},
		{[]byte("syntax = \"proto3\";"), "not an encoded FileDescriptorSet"},
		{make([]byte, message.MaxSize+1), "the set of descriptors has 4194305 bytes; it may have up to 4194304"},
		{encoded(t, many), "has 5001 files"},
		{encoded(t, ofText(t, `file { name: "a.proto" }`)), "no message and no enum"},
		{encoded(t, ofText(t, `file { name: "a.proto" `+messageM+` dependency: "b.proto" }`)), `file "a.proto" imports "b.proto", which is not in the set of descriptors; protoc --include_imports`},
		{encoded(t, ofText(t, `file { name: "a.proto" `+messageM+` dependency: "a.proto" }`)), "not valid"},
		{encoded(t, ofText(t, `file { name: "a.proto" `+messageM+messageM+` }`)), "not valid"},
		{encoded(t, ofText(t, `file { name: "a.proto" message_type { name: "M" field { name: "f" number: 1 type: TYPE_MESSAGE type_name: ".N" } } }`)), "not valid"},
		{encoded(t, ofText(t, `file { name: "a.proto" syntax: "editions" edition: EDITION_99999_TEST_ONLY `+messageM+` }`)), "2023 and 2024 are supported"},
		{encoded(t, ofText(t, `file { name: "cmd/protoc-gen-go/testdata/a.proto" syntax: "editions" `+messageM+` }`)), "2023 and 2024 are supported"}, // the library would end the process
		{bytes.Repeat([]byte{0x0a, 0}, 300_000), "more than 250000 parts"},
		{encoded(t, nestedFile(33)), "nested more than 32 levels"},
		{encoded(t, nestedFile(500)), "nested too deeply"},
		{encoded(t, longNames()), "full names of the types have"},
	} {
		if _, err := message.Parse("b", c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.set, err, c.want)
		}
	}
}

func nestedFile(depth int) *descriptorpb.FileDescriptorSet {
	m := &descriptorpb.DescriptorProto{Name: proto.String("M")}
	for range depth - 1 {
		m = &descriptorpb.DescriptorProto{Name: proto.String("M"), NestedType: []*descriptorpb.DescriptorProto{m}}
	}
	return &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{Name: proto.String("a"), MessageType: []*descriptorpb.DescriptorProto{m}}}}
}

// longNames has some thousand messages in a package with a very long name.
func longNames() *descriptorpb.FileDescriptorSet {
	f := &descriptorpb.FileDescriptorProto{Name: proto.String("a"), Package: proto.String(strings.Repeat("x", 100_000))}
	for i := range 1000 {
		f.MessageType = append(f.MessageType, &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprint("M", i))})
	}
	return &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{f}}
}

// A message can become much larger in memory than it is.
func TestHostileMessages(t *testing.T) {
	album, _ := parsed(t, descriptors(t)).Type("music.Album")
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{make([]byte, message.MaxMessage+1), "is too large for a query"},
		{bytes.Repeat([]byte{0x32, 0}, 600_000), "more than 250000 messages in it"},
		{bytes.Repeat([]byte{0x33, 0x34}, 600_000), "has groups"},
		{bytes.Repeat([]byte{0x33}, 20_000), "not a valid music.Album"},
	} {
		if _, err := message.Decode(album, c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %q", c.b, err, c.want)
		}
	}
	if _, err := message.Decode(album, bytes.Repeat([]byte("\x0a\x05Lover"), 300_000)); err != nil {
		t.Error(err)
	}
}

// A change of a bundle breaks whatever the old bundle could read and the new one cannot.
func TestChangesThatBreak(t *testing.T) {
	const none = ""
	const base = `
		field { name: "a" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
		field { name: "b" number: 2 label: LABEL_REPEATED type: TYPE_STRING }
		field { name: "e" number: 3 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".E" }
		field { name: "n" number: 4 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".M.N" }
		field { name: "o" number: 5 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
		field { name: "p" number: 8 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 0 }
		field { name: "d" number: 6 label: LABEL_OPTIONAL type: TYPE_STRING default_value: "x" }
		field { name: "u" number: 7 label: LABEL_OPTIONAL type: TYPE_UINT32 }
		nested_type { name: "N" }
		oneof_decl { name: "which" }`
	file := func(fields, enum string) *message.Bundle {
		return parsed(t, ofText(t, `file { name: "a.proto" message_type { name: "M" `+fields+` } enum_type { name: "E" `+enum+` } }`))
	}
	const enum = `value { name: "X" number: 0 } value { name: "Y" number: 1 }`
	old := file(base, enum)
	for _, c := range []struct{ from, to, want string }{
		{"", "", none},
		{`nested_type { name: "N" }`, `nested_type { name: "N" } nested_type { name: "O" } field { name: "z" number: 9 label: LABEL_OPTIONAL type: TYPE_BOOL }`, none},
		{`value { name: "Y" number: 1 }`, `value { name: "Y" number: 1 } value { name: "Z" number: 2 }`, none},
		{"TYPE_INT32", "TYPE_INT64", none},
		{"TYPE_UINT32", "TYPE_INT64", none},
		{"TYPE_UINT32", "TYPE_INT32", "field M.u changes from uint32 to int32"},
		{"TYPE_INT32", "TYPE_SINT32", "field M.a changes from int32 to sint32"},
		{"TYPE_INT32", "TYPE_STRING", "field M.a changes from int32 to string"},
		{"LABEL_REPEATED type: TYPE_STRING", "LABEL_OPTIONAL type: TYPE_STRING", "field M.b changes from repeated string to string"},
		{`field { name: "a" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }`, "", "field M.a, number 1, is removed"},
		{`field { name: "a" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }`, `reserved_range { start: 1 end: 2 } reserved_name: "a"`, "field M.a, number 1, is removed"},
		{`name: "a" number: 1`, `name: "c" number: 1`, "field M.a, number 1, is renamed to c"},
		{`name: "a" number: 1`, `name: "a" number: 9`, "field M.a, number 1, is removed"},
		{`label: LABEL_OPTIONAL type: TYPE_INT32`, `label: LABEL_REQUIRED type: TYPE_INT32`, "field M.a becomes required"},
		{`default_value: "x"`, `default_value: "y"`, "the default of field M.d changes"},
		{`default_value: "x"`, ``, "the default of field M.d changes"},
		{`TYPE_BOOL oneof_index: 0 }`, `TYPE_BOOL }`, "field M.p moves into or out of a oneof"},
		{`value { name: "Y" number: 1 }`, ``, "value Y of enum E is removed"},
		{`value { name: "Y" number: 1 }`, `value { name: "Y" number: 2 }`, "value Y of enum E changes its number from 1 to 2"},
		{`value { name: "X" number: 0 } value { name: "Y" number: 1 }`, `value { name: "Y" number: 1 } value { name: "X" number: 0 }`, "the default of field M.e changes"},
	} {
		changed := file(strings.Replace(base, c.from, c.to, 1), strings.Replace(enum, c.from, c.to, 1))
		got := ""
		if err := message.Breaks(old, changed); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s → %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	empty := parsed(t, ofText(t, `file { name: "a.proto" message_type { name: "M" `+strings.Replace(base, "TYPE_ENUM type_name: \".E\"", "TYPE_INT32", 1)+` } }`))
	if err := message.Breaks(old, empty); err == nil || err.Error() != "enum E is removed" {
		t.Errorf("%v", err)
	}
	if err := message.Breaks(old, parsed(t, ofText(t, `file { name: "a.proto" enum_type { name: "E" `+enum+` } }`))); err == nil || err.Error() != "message M is removed" {
		t.Errorf("%v", err)
	}
}

// Any bytes are a bundle or an error, and a bundle can be used and compared.
func FuzzParse(f *testing.F) {
	set := descriptors(f)
	f.Add(encoded(f, set))
	f.Add(encoded(f, &descriptorpb.FileDescriptorSet{File: set.GetFile()[1:2]}))
	f.Add(encoded(f, ofText(f, `file { name: "a.proto" syntax: "editions" edition: EDITION_2023 message_type { name: "M"
		field { name: "f" number: 1 type: TYPE_GROUP type_name: ".M.F" extendee: ".M" } extension_range { start: 5 end: 9 } nested_type { name: "F" }
		extension { name: "x" number: 5 label: LABEL_OPTIONAL type: TYPE_BOOL extendee: ".M" } } }`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		bundle, err := message.Parse("b", b)
		if err != nil {
			return
		}
		if err := message.Breaks(bundle, bundle); err != nil {
			t.Errorf("a bundle breaks itself: %v", err)
		}
		for _, name := range bundle.Names() {
			typ, ok := bundle.Type(name)
			if !ok {
				t.Errorf("%s has no type", name)
			}
			if typ.Kind == value.TypeMessage {
				readAll(t, typ, b)
			}
		}
	})
}

// Any bytes are a message or an error, and all fields of a message can be read.
func FuzzDecode(f *testing.F) {
	album, _ := parsed(f, descriptors(f)).Type("music.Album")
	for _, text := range []string{`title: "a" artist { name: "b" } sales { key: "k" value: 1 } discs: 1 vinyl: "v" genres: 7 tracks { seconds: 5 }`, `plays: 18446744073709551615 guests { key: 9 } label { name: "l" }`} {
		b, err := message.Cast(text, value.Type{Kind: value.TypeString}, album)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b.([]byte))
	}
	f.Fuzz(func(t *testing.T, b []byte) { readAll(t, album, b) })
}

// readAll reads all fields of a message, and casts it to text and back.
func readAll(t *testing.T, typ value.Type, b []byte) {
	m, err := message.Decode(typ, b)
	if err != nil {
		return
	}
	for _, name := range message.Fields(typ) {
		for _, name := range []string{name, "has_" + name} {
			field, err := message.FieldOf(typ, name)
			if err != nil {
				continue
			}
			v, err := field.Get(m)
			if err != nil {
				continue
			}
			if n := value.Size(v); n > 1000*(len(b)+100) {
				t.Errorf("%s takes %d bytes", name, n)
			}
		}
	}
	text, err := message.Cast(b, typ, value.Type{Kind: value.TypeString})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := message.Cast(text, value.Type{Kind: value.TypeString}, typ); err != nil && !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("%q: %v", text, err)
	}
}
