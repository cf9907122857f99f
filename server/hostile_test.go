package server_test

import (
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	internalwire "github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query/read"
)

// permanent are the codes after which a client does not try again.
var permanent = map[codes.Code]bool{
	codes.OK: true, codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true,
	codes.FailedPrecondition: true, codes.Unimplemented: true, codes.ResourceExhausted: true, codes.OutOfRange: true,
	codes.PermissionDenied: true, // a checkpoint to a place that is not allowed
}

var (
	hostileRounds = flag.Int("hostile.rounds", 6, "how many requests of each call are made up")
	hostileSeed   = flag.Uint64("hostile.seed", 7, "which")
)

// hostileTable creates a table and its families if they do not exist, so that hostile
// calls get as far as possible.
func hostileTable(r *rig) {
	admin := r.admin()
	_ = admin.CreateTable(r.ctx(), "t")
	_ = admin.CreateColumnFamily(r.ctx(), "t", "f")
	_ = admin.CreateColumnFamilyWithConfig(r.ctx(), "t", "agg", bigtable.Family{ValueType: bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.SumAggregator{}}})
	m := bigtable.NewMutation()
	m.Set("f", "x", 1000, []byte("1"))
	r.must(r.client().Open("t").Apply(r.ctx(), "k", m))
}

// Requests with contents that no client sends fail as the client's fault, and no call
// ends the process. The seed is fixed, so every run has the same requests.
func TestEveryCallWithHostileRequests(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(7, *hostileSeed))
	ends := map[protoreflect.Name]map[codes.Code]int{}
	for round := range *hostileRounds {
		hostileTable(r)
		eachMethod(t, func(m protoreflect.MethodDescriptor) {
			if m.Name() == "ReadChangeStream" {
				return // it has no end; see below
			}
			req := dynamicpb.NewMessage(m.Input())
			poison(req, rng, 5)
			code := status.Code(r.call(m, req))
			if ends[m.Name()] == nil {
				ends[m.Name()] = map[codes.Code]int{}
			}
			ends[m.Name()][code]++
			place := code == codes.PermissionDenied && m.Parent().Name() == "DatabaseAdmin" // where no client may back up
			stale := code == codes.Aborted && m.Name() == "SetIamPolicy"                    // an etag that is not the policy's
			if !permanent[code] && !place && !stale {
				t.Errorf("round %d: %s: %v\n%.2000v", round, m.FullName(), code, req)
			}
		})
	}
	r.must(r.ping(r.ctx())) // the server still answers
	t.Log(ends)
}

// The same holds for each row of MutateRows.
func TestHostileRowsOfABatch(t *testing.T) {
	r := newRig(t)
	hostileTable(r)
	rng := rand.New(rand.NewPCG(8, *hostileSeed))
	refusals := 0
	for range 20 * *hostileRounds {
		req := &bigtablepb.MutateRowsRequest{TableName: tableT}
		for range 1 + rng.IntN(4) {
			e := &bigtablepb.MutateRowsRequest_Entry{}
			poison(e.ProtoReflect(), rng, 6)
			req.Entries = append(req.Entries, e)
		}
		stream, err := r.data().MutateRows(r.ctx(), req)
		r.must(err)
		answered := 0
		for {
			m, err := stream.Recv()
			if err == io.EOF {
				break
			}
			if code := status.Code(err); err != nil {
				if answered = len(req.Entries); !permanent[code] {
					t.Errorf("%v\n%.2000v", err, req)
				}
				break
			}
			for _, e := range m.GetEntries() {
				answered++
				code := codes.Code(e.GetStatus().GetCode())
				if code != codes.OK {
					refusals++
				}
				if !permanent[code] || code != codes.OK && e.GetStatus().GetMessage() == "" {
					t.Errorf("%v\n%.2000v", e.GetStatus(), req.GetEntries()[e.GetIndex()])
				}
			}
		}
		if answered != len(req.Entries) {
			t.Errorf("%d of %d rows were answered", answered, len(req.Entries))
		}
	}
	if refusals == 0 {
		t.Error("nothing was hostile")
	}
}

// goodNames are fields that must be right for a call to look at the others.
var goodNames = map[protoreflect.Name][]string{
	"name":                 {tableT, parent, cluster, cluster + "/backups/b", parent + "/appProfiles/default", "operations/" + parent + "/locations/x"},
	"parent":               {parent, cluster, "projects/proj"},
	"table_name":           {tableT},
	"instance_name":        {parent},
	"source_table":         {tableT},
	"source_backup":        {cluster + "/backups/b"},
	"backup":               {cluster + "/backups/b"},
	"family_name":          {"f", "agg"},
	"id":                   {"f", "agg", "new"},
	"query":                {"SELECT * FROM t", "SELECT @a, f['x'] FROM t WHERE _key IN UNNEST(@b) LIMIT @c"},
	"resource":             {tableT, parent},
	"cluster_id":           {"local", "c"},
	"app_profile_id":       {"default", ""},
	"authorized_view_name": {viewV},
}

// poison fills a message with random extreme values, and one field of each oneof. Half
// of the names are valid.
func poison(m protoreflect.Message, rng *rand.Rand, levels int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if good := goodNames[f.Name()]; good != nil && f.Kind() == protoreflect.StringKind && !f.IsList() && rng.IntN(2) == 0 {
			m.Set(f, protoreflect.ValueOfString(good[rng.IntN(len(good))]))
			continue
		}
		if rng.IntN(4) == 0 || strings.HasSuffix(string(f.Name()), "_view_name") && rng.IntN(8) != 0 { // a view ends most calls
			continue
		}
		isMessage := f.Kind() == protoreflect.MessageKind || f.Kind() == protoreflect.GroupKind
		switch {
		case isMessage && levels == 0:
		case f.IsMap():
			if key, value := f.MapKey(), f.MapValue(); value.Kind() == protoreflect.MessageKind && levels > 0 {
				poison(m.Mutable(f).Map().Mutable(poisonValue(key, rng).MapKey()).Message(), rng, levels-1)
			} else if value.Kind() != protoreflect.MessageKind {
				m.Mutable(f).Map().Set(poisonValue(key, rng).MapKey(), poisonValue(value, rng))
			}
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

// A filter that is nested too deeply or too large is refused before it costs much, and
// so is text that is not UTF-8.
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

// The patterns of conditions that a client sends are bounded together, before they are
// compiled: each of these would take gigabytes, or minutes.
func TestHostilePatternsOfConditions(t *testing.T) {
	r := newRig(t)
	hostileTable(r)
	many := func(n int, pattern string) (all []read.Condition) {
		for range n {
			all = append(all, read.WhereMatch("f", "x", pattern))
		}
		return all
	}
	large := strings.Repeat("ab|a|", 1_000_000)
	for name, c := range map[string]struct {
		where []read.Condition
		want  string
	}{
		"one that is long": {many(1, large), "5000000 bytes together; they may have up to 65536"},
		"one that is deep": {many(1, strings.Repeat("(", 5_000_000)+strings.Repeat(")", 5_000_000)), "10000000 bytes together"},
		"many":             {many(10_000, `(\C{100}){10}`), "130000 bytes together"},
		"repetitions":      {many(1_000, `(\C{100}){10}`), "more than 100000 steps together"},
		"one repetition":   {many(1, strings.Repeat(`(\C{100}){10}`, 100)), "more than 100000 steps"},
		"in brackets":      {[]read.Condition{read.Negate(read.Any(read.All(many(1_000, `(\C{100}){10}`)...), read.Exists("f", "x")))}, "more than 100000 steps together"},
		"of the key":       {[]read.Condition{read.WhereKeyMatch(large)}, "5000000 bytes together"},
		"not in order":     {many(1, "("), "missing closing )"},
	} {
		req := &bigtablepb.ReadRowsRequest{TableName: parent + "/tables/t"}
		r.must(internalwire.SetConditions(req, c.where))
		ctx := metadata.AppendToOutgoingContext(r.ctx(), internalwire.ExactHeader, "1")
		stream, err := bigtablepb.NewBigtableClient(r.conn).ReadRows(ctx, req)
		r.must(err)
		if _, err = stream.Recv(); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
