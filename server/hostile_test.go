package server_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// permanent are codes that say whose fault it is; after none of them does a client
// try again. That of time-outs is here for streams of changes, which have no end.
var permanent = map[codes.Code]bool{
	codes.OK: true, codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true,
	codes.FailedPrecondition: true, codes.Unimplemented: true, codes.ResourceExhausted: true, codes.OutOfRange: true,
}

// Requests that are filled with what no client sends are the client's fault, and no
// call ends the process. The seed is fixed: the same requests in every run.
func TestEveryCallWithHostileRequests(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(7, 7))
	for round := range 6 {
		eachMethod(t, func(m protoreflect.MethodDescriptor) {
			if m.Name() == "ReadChangeStream" {
				return // it has no end; see below
			}
			req := dynamicpb.NewMessage(m.Input())
			poison(req, rng, 5)
			if code := status.Code(r.call(m, req)); !permanent[code] {
				t.Errorf("round %d: %s: %v\n%.2000v", round, m.FullName(), code, req)
			}
		})
	}
	r.must(r.ping(r.ctx())) // it lives
}

// poison fills a message with values from the edges, one of each oneof, at random.
func poison(m protoreflect.Message, rng *rand.Rand, levels int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if rng.IntN(4) == 0 || f.IsMap() {
			continue
		}
		isMessage := f.Kind() == protoreflect.MessageKind || f.Kind() == protoreflect.GroupKind
		switch {
		case isMessage && levels == 0:
		case f.IsList():
			list := m.Mutable(f).List()
			for range rng.IntN(3) {
				if isMessage {
					poison(list.AppendMutable().Message(), rng, levels-1)
				} else {
					list.Append(poisonValue(f, rng))
				}
			}
		case isMessage:
			poison(m.Mutable(f).Message(), rng, levels-1)
		default:
			m.Set(f, poisonValue(f, rng))
		}
	}
}

func poisonValue(f protoreflect.FieldDescriptor, rng *rand.Rand) protoreflect.Value {
	pick := func(values ...any) protoreflect.Value { return protoreflect.ValueOf(values[rng.IntN(len(values))]) }
	texts := []string{parent, tableT, parent + "/clusters/c", parent + "/clusters/-", cluster + "/backups/b", "projects/", "projects//instances//tables/", "/", "..", "a", "f", "%s\n",
		strings.Repeat("x", 5000), "(a*)*$", "[", "\\C*", "\x00", "\u202e", "projects/p/instances/i/tables/" + strings.Repeat("a/", 50)}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return pick(true, false)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber([]int32{0, 1, 2, -1, math.MaxInt32, math.MinInt32}[rng.IntN(6)]))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[rng.IntN(len(texts))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte([]string{"", "\xff\xfe\x00", "k", "\xff", strings.Repeat("\xff", 5000), "(", "(?i)\\C+"}[rng.IntN(7)]))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return pick(int32(0), int32(-1), int32(math.MinInt32), int32(math.MaxInt32), int32(1))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return pick(int64(0), int64(-1), int64(-2), int64(math.MinInt64), int64(math.MaxInt64), int64(1000))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return pick(uint32(0), uint32(math.MaxUint32))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return pick(uint64(0), uint64(math.MaxUint64))
	case protoreflect.FloatKind:
		return pick(float32(0), float32(-1), float32(math.NaN()), float32(math.Inf(1)))
	}
	return pick(0.0, -1.0, math.NaN(), math.Inf(1), math.Inf(-1), 1e308)
}

// A filter that is nested deeper than messages may be, or that is too large, is
// refused before it costs anything, and text that is not UTF-8 too.
func TestHostileFiltersAndTexts(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	data := bigtablepb.NewBigtableClient(r.conn)
	read := func(f *bigtablepb.RowFilter) error {
		stream, err := data.ReadRows(r.ctx(), &bigtablepb.ReadRowsRequest{TableName: tableT, Filter: f})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	all := func() *bigtablepb.RowFilter {
		return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_PassAllFilter{PassAllFilter: true}}
	}
	deep := all()
	for range 3000 {
		deep = &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: []*bigtablepb.RowFilter{deep, all()}}}}
	}
	wide := &bigtablepb.RowFilter_Interleave{}
	for range 1 << 16 {
		wide.Filters = append(wide.Filters, all())
	}
	for what, f := range map[string]*bigtablepb.RowFilter{
		"deep": deep, "wide": {Filter: &bigtablepb.RowFilter_Interleave_{Interleave: wide}},
		"a condition of nothing": {Filter: &bigtablepb.RowFilter_Condition_{}},
		"a chain of one":         {Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: []*bigtablepb.RowFilter{{}}}}},
		"a regex that repeats":   {Filter: &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: []byte(strings.Repeat("(a{1000}){1000}", 10))}},
	} {
		if code := status.Code(read(f)); code != codes.InvalidArgument && !(what == "deep" && code == codes.Internal) {
			t.Errorf("a filter that is %s: %v", what, code)
		}
	}

	// A name that is not UTF-8 does not get past protocol buffers.
	m := (&adminpb.CreateTableRequest{}).ProtoReflect().New()
	m.SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte("\xff")))
	err := r.conn.Invoke(r.ctx(), "/google.bigtable.admin.v2.BigtableTableAdmin/CreateTable", m.Interface(), &adminpb.Table{})
	if code := status.Code(err); code != codes.Internal && code != codes.InvalidArgument {
		t.Errorf("a name that is not UTF-8: %v", err)
	}
	r.must(r.ping(r.ctx()))
}
