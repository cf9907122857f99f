// Package message is the messages and enums of schema bundles. It reads sets of
// descriptors, says what a change of a set breaks, and gets the fields of encoded messages
// as values of SQL.
package message

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/sql/value"
)

// A Bundle is the messages and enums of a schema bundle. Goroutines may share it.
type Bundle struct {
	id    string
	files *protoregistry.Files
}

// Parse reads an encoded FileDescriptorSet with all files that it imports. Its errors say
// what is wrong with it.
func Parse(id string, set []byte) (*Bundle, error) {
	if len(set) == 0 {
		return nil, fmt.Errorf("the set of descriptors is empty; protoc --include_imports --descriptor_set_out=FILE writes one")
	}
	if len(set) > MaxSize {
		return nil, fmt.Errorf("the set of descriptors has %d bytes; it may have up to %d", len(set), MaxSize)
	}
	all := &descriptorpb.FileDescriptorSet{}
	if parts(all.ProtoReflect().Descriptor(), set, 0) > maxParts {
		return nil, fmt.Errorf("the descriptors have more than %d parts, or are nested too deeply", maxParts)
	}
	if err := (proto.UnmarshalOptions{Resolver: noTypes, AllowPartial: true}).Unmarshal(set, all); err != nil {
		return nil, fmt.Errorf("the descriptors are not an encoded FileDescriptorSet: %s", plain(err))
	}
	if err := checkFiles(all.GetFile()); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(all)
	if err != nil {
		return nil, fmt.Errorf("the descriptors are not valid: %s", plain(err))
	}
	return &Bundle{id, files}, nil
}

// noTypes finds no extensions: options that are not protobuf's own stay unread.
var noTypes *protoregistry.Types

// editions are those that the library knows: others can end the process.
var editions = []descriptorpb.Edition{descriptorpb.Edition_EDITION_2023, descriptorpb.Edition_EDITION_2024}

// checkFiles refuses sets without messages, imports of files that are not in the set, and
// sets that would take too much memory.
func checkFiles(files []*descriptorpb.FileDescriptorProto) error {
	if len(files) > maxFiles {
		return fmt.Errorf("the set of descriptors has %d files; it may have up to %d", len(files), maxFiles)
	}
	known, types := map[string]bool{}, 0
	for _, f := range files {
		known[f.GetName()] = true
		types += len(f.GetMessageType()) + len(f.GetEnumType())
		f.SourceCodeInfo = nil // comments, which can be large
		if f.GetSyntax() == "editions" && !slices.Contains(editions, f.GetEdition()) {
			return fmt.Errorf("file %q has the edition %v; 2023 and 2024 are supported", excerpt.Of(f.GetName()), f.GetEdition())
		}
	}
	if types == 0 {
		return fmt.Errorf("the descriptors have no message and no enum")
	}
	for _, f := range files {
		for _, name := range f.GetDependency() {
			if !known[name] {
				return fmt.Errorf("file %q imports %q, which is not in the set of descriptors; protoc --include_imports puts it there", excerpt.Of(f.GetName()), excerpt.Of(name))
			}
		}
	}
	return checkNames(files)
}

// Type is the type of a message or an enum by its full name, such as pkg.Message.
func (b *Bundle) Type(name string) (t value.Type, ok bool) {
	d, err := b.files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return t, false
	}
	switch d := d.(type) {
	case protoreflect.MessageDescriptor:
		return messageType(b.id, d), true
	case protoreflect.EnumDescriptor:
		return enumType(b.id, d), true
	}
	return t, false
}

// Names are the full names of the messages and enums, in no order.
func (b *Bundle) Names() (names []string) {
	for name := range b.types() {
		names = append(names, string(name))
	}
	return names
}

// types are all messages and enums, also those within messages, but not the entries of
// maps.
func (b *Bundle) types() map[protoreflect.FullName]protoreflect.Descriptor {
	all := map[protoreflect.FullName]protoreflect.Descriptor{}
	var within func(protoreflect.MessageDescriptors, protoreflect.EnumDescriptors)
	within = func(messages protoreflect.MessageDescriptors, enums protoreflect.EnumDescriptors) {
		for i := range enums.Len() {
			all[enums.Get(i).FullName()] = enums.Get(i)
		}
		for i := range messages.Len() {
			if m := messages.Get(i); !m.IsMapEntry() {
				all[m.FullName()] = m
				within(m.Messages(), m.Enums())
			}
		}
	}
	b.files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		within(f.Messages(), f.Enums())
		return true
	})
	return all
}

func messageType(bundle string, d protoreflect.MessageDescriptor) value.Type {
	return value.Type{Kind: value.TypeMessage, Proto: &value.Proto{Bundle: bundle, Name: string(d.FullName()), Of: d}}
}

func enumType(bundle string, d protoreflect.EnumDescriptor) value.Type {
	return value.Type{Kind: value.TypeEnum, Proto: &value.Proto{Bundle: bundle, Name: string(d.FullName()), Of: d}}
}
