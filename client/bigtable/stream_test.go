package bigtable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func closing() *bigtablepb.ReadChangeStreamResponse {
	return &bigtablepb.ReadChangeStreamResponse{StreamRecord: &bigtablepb.ReadChangeStreamResponse_CloseStream_{CloseStream: &bigtablepb.ReadChangeStreamResponse_CloseStream{}}}
}

func heartbeat(at time.Time) *bigtablepb.ReadChangeStreamResponse {
	return &bigtablepb.ReadChangeStreamResponse{StreamRecord: &bigtablepb.ReadChangeStreamResponse_Heartbeat_{Heartbeat: &bigtablepb.ReadChangeStreamResponse_Heartbeat{EstimatedLowWatermark: timestamppb.New(at)}}}
}

// closer is a following of a source that closes its change stream each time, after the
// messages of send.
func closer(t *testing.T, send func(s bigtablepb.Bigtable_ReadChangeStreamServer) error, told func(Progress)) *following {
	t.Helper()
	h := &hostile{partitions: func() {}, changes: func(s bigtablepb.Bigtable_ReadChangeStreamServer) error {
		if err := send(s); err != nil {
			return err
		}
		return s.Send(closing())
	}}
	of := &table{id: "t"}
	c := &copying{from: h.source(t), to: inMemory(t), o: Options{pause: time.Millisecond, attempts: 5, Progress: told}, tables: []*table{of}}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	return &following{c: c, t: of, since: time.Unix(1000, 0)}
}

// A change stream that the source closes again and again, without anything new, is told,
// and ends the copy.
func TestStreamThatAlwaysCloses(t *testing.T) {
	streams, fault := 0, ""
	f := closer(t, func(bigtablepb.Bigtable_ReadChangeStreamServer) error {
		streams++
		return nil
	}, func(p Progress) {
		if p.Fault != nil {
			fault = p.Fault.Error()
		}
	})
	err := f.run(t.Context())
	const want = "copy t: bigtable://p/i closes the change stream whenever it is read, 5 times without anything new; the target has the changes before 1970-01-01T00:16:40Z, and the same copy goes on from there"
	if err == nil || err.Error() != want || query.KindOf(err) != query.KindUnavailable || streams != 5 || !strings.Contains(fault, "the change stream was closed") {
		t.Errorf("after %d streams, with the fault %s: %v", streams, fault, err)
	}
}

// Streams that are closed soon, each after a little that is new, come further.
func TestStreamsThatCloseSoonComeFurther(t *testing.T) {
	streams := 0
	ctx, cancel := context.WithCancel(t.Context())
	var asked []time.Time
	f := closer(t, func(s bigtablepb.Bigtable_ReadChangeStreamServer) error {
		streams++
		return s.Send(heartbeat(time.Unix(1000, 0).Add(time.Duration(streams) * time.Millisecond)))
	}, func(p Progress) {
		if asked = append(asked, p.Through); streams == 20 {
			cancel()
		}
	})
	if err := f.run(ctx); !errors.Is(err, context.Canceled) || f.since.Before(time.Unix(1000, 0).Add(19*time.Millisecond)) {
		t.Errorf("it came to %v: %v", f.since, err)
	}
}

// follower follows a server's database, until all of its changes are in the target.
type follower struct {
	t      *testing.T
	from   *Source
	target *query.DB
	o      Options
}

func (f *follower) until(at time.Time) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	o := f.o
	o.Follow = true
	o.Progress = func(p Progress) {
		if p.Through.After(at) {
			cancel()
		}
	}
	if _, err := Copy(ctx, f.from, f.target, o); !errors.Is(err, context.Canceled) {
		f.t.Fatal(err)
	}
}

var changingTable = schema.Table{Name: "t", ChangeStream: 24 * time.Hour, Families: []schema.Family{
	{Name: "pii"}, {Name: "open", GC: schema.MaxVersions(3)},
	{Name: "sum", Aggregate: schema.AggregateSum}, {Name: "max", Aggregate: schema.AggregateMax},
}}

// changeAtRandom makes changes of all kinds in a few rows. Texts in pii name pilots.
func changeAtRandom(t *testing.T, db *query.DB, r *rand.Rand, n int) {
	t.Helper()
	for range n {
		m := write.NewMutation()
		qualifier, at := fmt.Sprint("q", r.IntN(3)), cells.Timestamp(1000*r.IntN(5))
		switch r.IntN(10) {
		case 0:
			m.DeleteRow()
		case 1:
			m.DeleteCellsInFamily([]string{"pii", "open", "sum", "max"}[r.IntN(4)])
		case 2:
			m.DeleteCellsInColumn([]string{"pii", "open", "sum"}[r.IntN(3)], qualifier)
		case 3:
			m.DeleteTimestampRange("pii", qualifier, at, at+2000)
		case 4:
			m.AddAt("sum", qualifier, at, cells.I64(r.Int64N(1000)-500))
		case 5:
			m.AddAt("max", qualifier, at, cells.I64(r.Int64N(1000)))
		case 6:
			m.SetAt("open", qualifier, at, cells.String(fmt.Sprint("open ", r.IntN(100))))
		case 7:
			m.DeleteRow()
			m.SetAt("pii", qualifier, at, cells.String(pilot(r.IntN(100))))
		default:
			m.SetAt("pii", qualifier, at, cells.String(pilot(r.IntN(100))))
			m.SetAt("pii", "age", at, cells.I64(r.Int64N(100)))
		}
		if err := db.Table("t").Apply(t.Context(), fmt.Sprint("row ", r.IntN(6)), m); err != nil {
			t.Fatal(err)
		}
	}
}

// maskedDump is a dump of a table as a copy with masks should have it.
func maskedDump(t *testing.T, db *query.DB, masks []Mask, key []byte) (all []string) {
	t.Helper()
	for c, err := range db.Table("t").ScanCells(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		v := c.Value
		if i := slices.IndexFunc(masks, func(m Mask) bool { return matches(m.Family, c.Family) && matches(m.Qualifier, c.Qualifier) }); i >= 0 {
			v = masker{key}.value(v, masks[i].Method)
		}
		all = append(all, fmt.Sprintf("%q %s:%q@%d %v", c.Key, c.Family, c.Qualifier, int64(c.Timestamp), v))
	}
	return all
}

// After any changes, deletes of cells, columns, families and rows among them, a copy that
// follows has the source's cells with its masks, and none without: sums once, each
// timestamp as it was.
func TestFollowedMasks(t *testing.T) {
	source, dir := openTarget(t, t.TempDir()), t.TempDir()
	if err := source.CreateTable(t.Context(), changingTable); err != nil {
		t.Fatal(err)
	}
	key := []byte("0123456789abcdef")
	masks := []Mask{{"pii", "age", Fake}, {"pii", "q1", Null}, {"pii", "*", Hash}, {"sum", "q*", Fake}, {"max", "q1", Hash}}
	f := &follower{t, dial(t, serveChanges(t, source)), openTarget(t, dir), Options{Masks: masks, MaskKey: key, pause: time.Millisecond, heartbeat: 10 * time.Millisecond, flushAt: 60}}
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 6 {
		changeAtRandom(t, source, r, 60)
		f.until(source.Now().Time())
		if got, want := dump(t, f.target, "t"), maskedDump(t, source, masks, key); !slices.Equal(got, want) || len(want) == 0 {
			t.Fatalf("after round %d the target has\n%s\nand should have\n%s", round, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	noSecret(t, dir)
	f.o.Verify = true
	if report := copyAll(t, f.from, f.target, f.o); report.Different != 0 {
		t.Errorf("%+v", report)
	}
}

// dropping passes connections on to an address, and cuts each after some bytes of the server.
func dropping(t *testing.T, addr string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for number := 0; ; number++ {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", addr)
			if err != nil {
				_ = in.Close()
				continue
			}
			all.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
			all.Go(func() {
				_, _ = io.CopyN(in, out, 500+rand.Int64N(1000*int64(number+1)))
				_ = in.Close()
				_ = out.Close()
			})
		}
	})
	return l.Addr().String()
}

// A source whose connections break, in whatever the copy is about, is copied, followed and
// compared all the same.
func TestConnectionsThatDrop(t *testing.T) {
	source := openTarget(t, t.TempDir())
	if err := source.CreateTable(t.Context(), changingTable); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	changeAtRandom(t, source, r, 200)
	for i := range 300 {
		m := write.NewMutation()
		m.SetAt("pii", "name", 1000, cells.String(pilot(i)))
		m.AddAt("sum", "n", 1000, cells.I64(1))
		if err := source.Table("t").Apply(t.Context(), pilot(i), m); err != nil {
			t.Fatal(err)
		}
	}
	addr := serveChanges(t, source)
	f := &follower{t, dial(t, dropping(t, addr)), inMemory(t), Options{pause: time.Millisecond, heartbeat: 10 * time.Millisecond, attempts: 1000, flushAt: 500, noteAt: 2000}}
	f.until(source.Now().Time())
	changeAtRandom(t, source, r, 200)
	f.until(source.Now().Time())
	if got, want := dump(t, f.target, "t"), maskedDump(t, source, nil, nil); !slices.Equal(got, want) {
		t.Errorf("the target has\n%s\nand should have\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	f.o.Verify = true
	if report := copyAll(t, f.from, f.target, f.o); report.Different != 0 {
		t.Errorf("%+v", report)
	}
}

// Calls that fail for a while are told, and no longer when the copy comes further.
func TestFaultsAreTold(t *testing.T) {
	e := newEmulator(t)
	e.fleet(3)
	left := 2
	fails := func(*bigtablepb.ReadRowsRequest, int) error {
		if left--; left >= 0 {
			return status.Error(codes.Unavailable, "not now")
		}
		return nil
	}
	e.fails.Store(&fails)
	var told []string
	copyAll(t, e.source, inMemory(t), Options{Tables: []string{"users"}, Parallel: 1, pause: time.Millisecond, Progress: func(p Progress) { told = append(told, fmt.Sprint(p.Rows, " ", p.Fault)) }})
	const fault = "0 copy users: bigtable://p/i answers Unavailable: not now"
	if !slices.Contains(told, fault) || told[len(told)-1] != "3 <nil>" {
		t.Errorf("%q", told)
	}
}

// The declarations of a target hold: sums stay sums, and a value that does not fit is named.
func TestTargetsWithOtherSchemas(t *testing.T) {
	e := newEmulator(t)
	e.fleet(3)
	for _, c := range []struct {
		name string
		have schema.Table
		want string
	}{
		{"a sum is copied as a number", schema.Table{Families: []schema.Family{{Name: "miles"}}}, ""},
		{"with a rule of its own", schema.Table{Families: []schema.Family{{Name: "meta", GC: schema.MaxVersions(1)}}}, ""},
		{"a family that the source lacks", schema.Table{Families: []schema.Family{{Name: "other"}}}, ""},
		{"a text is no number", schema.Table{Families: []schema.Family{{Name: "pii", Type: cells.TypeI64}}}, `copy fleet "plane#0000": at 1000: pii:"pilot": the value has 12 bytes; the family's type is i64, which has 8`},
		{"a text is added to no sum", schema.Table{Families: []schema.Family{{Name: "pii", Aggregate: schema.AggregateSum}}}, `copy fleet "plane#0000": at 1000: pii:"pilot": the value has 12 bytes; the family's type is i64, which has 8`},
		{"a set of distinct values", schema.Table{Families: []schema.Family{{Name: "pii", Aggregate: schema.AggregateHLL}}}, "copy fleet: family pii counts distinct values, and a read gives their number, not the set; copy the other tables, by their names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := inMemory(t)
			c.have.Name = "fleet"
			if err := db.CreateTable(t.Context(), c.have); err != nil {
				t.Fatal(err)
			}
			report, err := Copy(t.Context(), e.source, db, Options{Tables: []string{"fleet"}, Verify: true, Parallel: 1})
			if fmt.Sprint(err) != c.want && (err != nil || c.want != "") {
				t.Fatalf("%v, want %s", err, c.want)
			}
			if report.Different != 0 || err == nil && report.Tables[0].Target.Rows != 3 {
				t.Errorf("%+v", report)
			}
		})
	}
}
