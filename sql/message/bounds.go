package message

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The bounds of what is decoded. A few bytes become a message of some hundred bytes in
// memory, and each type repeats its full name.
const (
	MaxSize    = 4 << 20 // bytes of a set of descriptors, as in Bigtable
	MaxMessage = 8 << 20 // bytes of a message that a query reads

	maxFiles  = 5000 // they are read recursively
	maxParts  = 250_000
	maxNames  = 64 << 20 // bytes of all full names together
	maxNested = 32       // messages in messages, as in protoc
	longest   = 300      // characters of an error
)

// parts is the number of messages in an encoded message, itself included. It is more than
// maxParts for a message that is nested too deeply or contains groups, whose ends are not
// known.
func parts(d protoreflect.MessageDescriptor, b []byte, depth int) int {
	if depth > 100 {
		return maxParts + 1
	}
	n := 1
	for len(b) > 0 && n <= maxParts {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			break // decoding says what is wrong
		}
		b = b[size:]
		if kind == protowire.StartGroupType {
			return n + len(b)
		}
		if size = protowire.ConsumeFieldValue(number, kind, b); size < 0 {
			break
		}
		if f := d.Fields().ByNumber(number); kind == protowire.BytesType && f != nil && f.Message() != nil {
			content, _ := protowire.ConsumeBytes(b)
			n += parts(f.Message(), content, depth+1)
		}
		b = b[size:]
	}
	return n
}

// checkNames refuses files whose types are nested too deeply, or whose full names, which
// repeat those around them, would take too much memory.
func checkNames(files []*descriptorpb.FileDescriptorProto) error {
	total := 0
	add := func(prefix int, name string) int {
		total += prefix + len(name) + 1
		return prefix + len(name) + 1
	}
	enum := func(prefix int, e *descriptorpb.EnumDescriptorProto) {
		add(prefix, e.GetName())
		for _, v := range e.GetValue() {
			add(prefix, v.GetName())
		}
	}
	var within func(prefix, depth int, m *descriptorpb.DescriptorProto) error
	within = func(prefix, depth int, m *descriptorpb.DescriptorProto) error {
		if depth > maxNested {
			return fmt.Errorf("messages are nested more than %d levels deep", maxNested)
		}
		prefix = add(prefix, m.GetName())
		for _, f := range m.GetField() {
			add(prefix, f.GetName())
		}
		for _, f := range m.GetExtension() {
			add(prefix, f.GetName())
		}
		for _, o := range m.GetOneofDecl() {
			add(prefix, o.GetName())
		}
		for _, e := range m.GetEnumType() {
			enum(prefix, e)
		}
		for _, inner := range m.GetNestedType() {
			if err := within(prefix, depth+1, inner); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range files {
		prefix := len(f.GetPackage())
		for _, m := range f.GetMessageType() {
			if err := within(prefix, 1, m); err != nil {
				return err
			}
		}
		for _, e := range f.GetEnumType() {
			enum(prefix, e)
		}
		for _, x := range f.GetExtension() {
			add(prefix, x.GetName())
		}
		for _, s := range f.GetService() {
			service := add(prefix, s.GetName())
			for _, m := range s.GetMethod() {
				add(service, m.GetName())
			}
		}
	}
	if total > maxNames {
		return fmt.Errorf("the full names of the types have %d bytes together; they may have up to %d", total, maxNames)
	}
	return nil
}

// plain returns the text of an error of the protobuf library, which varies its spaces and
// quotes names of any length.
func plain(err error) string {
	text := strings.TrimPrefix(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "�")), " "), "proto: ")
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}
