package route

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net/url"
	"regexp"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
)

// A method is a method of the API: where its requests name their instance.
type method struct {
	name   string // service/Method
	names  fields // the fields that name resources; nil: no such field
	slots  int    // how many values names finds
	reads  bool   // it reads rows, so a standby can answer
	stream bool   // it reads changes, which only the leader serves
	// id is set for a method that makes an instance: the slot of its id, beside the
	// project in slot 0.
	id int
}

// fields are fields of a message that are read, by their numbers.
type fields map[protowire.Number]*field

// A field is a text, whose value goes to a slot, or a message with fields.
type field struct {
	slot  int
	inner fields
}

// reads are the methods that read rows.
var reads = map[string]bool{
	bigtablepb.Bigtable_ReadRows_FullMethodName:      true,
	bigtablepb.Bigtable_SampleRowKeys_FullMethodName: true,
	bigtablepb.Bigtable_PrepareQuery_FullMethodName:  true,
	bigtablepb.Bigtable_ExecuteQuery_FullMethodName:  true,
}

// methods are all methods that a router passes on. The annotations of Bigtable's API say
// which fields have names: its clients make their headers from them too.
func methods() map[string]*method {
	all := map[string]*method{}
	for _, file := range []protoreflect.FileDescriptor{
		bigtablepb.File_google_bigtable_v2_bigtable_proto,
		adminpb.File_google_bigtable_admin_v2_bigtable_table_admin_proto,
		adminpb.File_google_bigtable_admin_v2_bigtable_instance_admin_proto,
		longrunningpb.File_google_longrunning_operations_proto,
		smolwcpb.File_database_admin_proto, smolwcpb.File_activity_proto, smolwcpb.File_smolwc_data_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				if d := service.Methods().Get(j); !d.IsStreamingClient() { // servers have none
					m := newMethod(d)
					all["/"+m.name] = m
				}
			}
		}
	}
	made := all[adminpb.BigtableInstanceAdmin_CreateInstance_FullMethodName]
	made.id = made.add(new(adminpb.CreateInstanceRequest).ProtoReflect().Descriptor(), "instance_id")
	all[smolwcpb.Statements_RunStatement_FullMethodName].add(new(smolwcpb.RunStatementRequest).ProtoReflect().Descriptor(), "instance_name")
	batch, entry := all[smolwcpb.Batches_ApplyBatch_FullMethodName], new(smolwcpb.ApplyBatchRequest).ProtoReflect().Descriptor()
	batch.add(entry, "entries.table_name")
	batch.add(entry, "entries.authorized_view_name")
	return all
}

func newMethod(d protoreflect.MethodDescriptor) *method {
	m := &method{name: string(d.Parent().FullName()) + "/" + string(d.Name())}
	m.reads = reads["/"+m.name]
	m.stream = "/"+m.name == bigtablepb.Bigtable_ReadChangeStream_FullMethodName
	rule, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
	for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		path := r.GetGet() + r.GetPost() + r.GetPut() + r.GetPatch() + r.GetDelete()
		for _, name := range nameInPath.FindAllStringSubmatch(path, -1) {
			m.add(d.Input(), name[1])
		}
	}
	return m
}

// nameInPath finds the field in a path such as /v2/{table.name=projects/*}.
var nameInPath = regexp.MustCompile(`\{([a-z_.]+)=`)

// add makes m read a field of a message, given as table.name, and returns its slot.
func (m *method) add(d protoreflect.MessageDescriptor, path string) int {
	if m.names == nil {
		m.names = fields{}
	}
	at, parts := m.names, strings.Split(path, ".")
	for i, part := range parts {
		number := d.Fields().ByName(protoreflect.Name(part)).Number()
		f := at[number]
		if f == nil {
			f = new(field)
			at[number] = f
			if i == len(parts)-1 {
				f.slot = m.slots
				m.slots++
			}
		}
		if i == len(parts)-1 {
			return f.slot
		}
		if f.inner == nil {
			f.inner = fields{}
		}
		at, d = f.inner, d.Fields().ByName(protoreflect.Name(part)).Message()
	}
	return 0
}

// instance is the instance that a call is about: the one that its request names, otherwise
// the one of its headers.
func (m *method) instance(md metadata.MD, request mem.BufferSlice) (string, error) {
	found := make([]string, m.slots)
	if m.names != nil {
		r := request.Reader()
		err := scan(r, r.Remaining(), m.names, found)
		_ = r.Close() // it cannot fail
		if err != nil {
			return "", status.Errorf(codes.InvalidArgument, "the request is no message of %s: %v", m.name, err)
		}
	}
	if m.id > 0 {
		found[0] += "/instances/" + found[m.id]
	}
	for _, params := range md.Get(wire.ParamsHeader) {
		values, _ := url.ParseQuery(params) // a wrong part names nothing
		for _, v := range values {
			found = append(found, v...)
		}
	}
	for _, name := range found {
		if in, _, ok := wire.CutInstance(strings.TrimPrefix(name, "operations/")); ok {
			return in.String(), nil
		}
	}
	return "", status.Errorf(codes.InvalidArgument, "a router cannot send %s on: the call names no instance, projects/P/instances/I, in its request or in the header %s; ask a server itself", m.name, wire.ParamsHeader)
}

// mostName is the longest name that is read.
const mostName = 4096

var errCut = errors.New("it ends early")

// scan reads a message of n bytes, and puts the texts of fields into their slots. As in
// protocol buffers the last value of a field counts. It copies nothing else.
func scan(r *mem.Reader, n int, of fields, to []string) error {
	for end := r.Remaining() - n; r.Remaining() > end; {
		tag, err := binary.ReadUvarint(r)
		if err != nil || tag > math.MaxUint32 {
			return errors.New("it has no valid field")
		}
		number, kind := protowire.DecodeTag(tag)
		skip := 0
		switch kind {
		case protowire.VarintType:
			if _, err := binary.ReadUvarint(r); err != nil {
				return errCut
			}
		case protowire.Fixed32Type:
			skip = 4
		case protowire.Fixed64Type:
			skip = 8
		case protowire.BytesType:
			length, err := binary.ReadUvarint(r)
			if err != nil || length > uint64(max(0, r.Remaining()-end)) {
				return errCut
			}
			skip = int(length)
			if f := of[number]; f != nil {
				if err := f.take(r, skip, to); err != nil {
					return err
				}
				skip = 0
			}
		default:
			return errors.New("it has a group, which no message has")
		}
		if skip > r.Remaining()-end {
			return errCut
		}
		if _, err := r.Discard(skip); err != nil {
			return errCut
		}
	}
	return nil
}

// take reads the value of a field, n bytes.
func (f *field) take(r *mem.Reader, n int, to []string) error {
	if f.inner != nil {
		return scan(r, n, f.inner, to)
	}
	if n > mostName {
		return errors.New("it has a name of more than 4 KiB")
	}
	name := make([]byte, n)
	if _, err := io.ReadFull(r, name); err != nil {
		return errCut
	}
	to[f.slot] = string(name)
	return nil
}
