package smolwcpb_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

var release = flag.Bool("release", false, "add the calls, fields and values of today to testdata/released.txt")

// Calls, fields and values that were released stay as they were, with their numbers and
// types: docs/stability.md promises it. At a release -release adds the new ones.
func TestReleasedMessagesStay(t *testing.T) {
	const file = "testdata/released.txt"
	var now []string
	for _, f := range []protoreflect.FileDescriptor{smolwcpb.File_database_admin_proto, smolwcpb.File_activity_proto, smolwcpb.File_smolwc_data_proto} {
		now = append(now, declarations(f)...)
	}
	slices.Sort(now)
	text, err := os.ReadFile(file)
	if err != nil && !*release {
		t.Fatal(err)
	}
	released := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(released) < 40 && !*release {
		t.Errorf("only %d lines in %s", len(released), file)
	}
	for _, line := range released {
		if line != "" && !slices.Contains(now, line) {
			t.Errorf("this was released, and is gone: %s", line)
		}
	}
	if *release && !t.Failed() {
		if err := os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// declarations describes each call, field and value of a file in a line.
func declarations(f protoreflect.FileDescriptor) (lines []string) {
	for i := range f.Services().Len() {
		calls := f.Services().Get(i).Methods()
		for i := range calls.Len() {
			m := calls.Get(i)
			lines = append(lines, fmt.Sprintf("call %s(%s, stream %t) %s, stream %t", m.FullName(), m.Input().FullName(), m.IsStreamingClient(), m.Output().FullName(), m.IsStreamingServer()))
		}
	}
	lines = append(lines, enums(f.Enums())...)
	return append(lines, messages(f.Messages())...)
}

func messages(all protoreflect.MessageDescriptors) (lines []string) {
	for i := range all.Len() {
		m := all.Get(i)
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			kind := f.Kind().String()
			switch {
			case f.Message() != nil:
				kind = string(f.Message().FullName())
			case f.Enum() != nil:
				kind = string(f.Enum().FullName())
			}
			lines = append(lines, fmt.Sprintf("field %s %s %s = %d", f.FullName(), f.Cardinality(), kind, f.Number()))
		}
		lines = append(lines, enums(m.Enums())...)
		lines = append(lines, messages(m.Messages())...)
	}
	return lines
}

func enums(all protoreflect.EnumDescriptors) (lines []string) {
	for i := range all.Len() {
		values := all.Get(i).Values()
		for i := range values.Len() {
			lines = append(lines, fmt.Sprintf("value %s = %d", values.Get(i).FullName(), values.Get(i).Number()))
		}
	}
	return lines
}
