package bigtable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// serveChanges serves a database whose change streams end after some messages.
func serveChanges(t *testing.T, db *query.DB) (addr string) {
	t.Helper()
	s, err := server.New(db, server.Options{Instance: parent})
	if err != nil {
		t.Fatal(err)
	}
	var streams atomic.Int64
	g := grpc.NewServer(append(s.ServerOptions(), grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if !strings.HasSuffix(info.FullMethod, "/ReadChangeStream") {
			return handle(srv, stream)
		}
		err := handle(srv, &ending{ServerStream: stream, left: streams.Add(1)})
		if errors.Is(err, errEnding) || strings.Contains(fmt.Sprint(err), errEnding.Error()) {
			return nil
		}
		return err
	}))...)
	s.Register(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return l.Addr().String()
}

// An ending stream ends after as many messages as there were streams before, and one.
type ending struct {
	grpc.ServerStream
	left int64
}

var errEnding = errors.New("the stream has had its messages")

func (e *ending) SendMsg(m any) error {
	if e.left--; e.left < 0 {
		return errEnding
	}
	return e.ServerStream.SendMsg(m)
}

// A copy follows its source: changed rows, deleted ones, new ones and sums, with masks. It
// goes on after its end with what changed meanwhile, also when partitions change.
func TestFollow(t *testing.T) {
	source := openTarget(t, t.TempDir())
	if err := source.CreateTable(t.Context(), schema.Table{Name: "t", ChangeStream: 24 * time.Hour, Families: []schema.Family{{Name: "f"}, {Name: "n", Aggregate: schema.AggregateSum}}}); err != nil {
		t.Fatal(err)
	}
	change := func(row string, do func(*write.Mutation)) {
		t.Helper()
		m := write.NewMutation()
		do(m)
		if err := source.Table("t").Apply(t.Context(), row, m); err != nil {
			t.Fatal(err)
		}
	}
	put := func(row, value string) {
		change(row, func(m *write.Mutation) {
			m.Set("f", "q", cells.String(value))
			m.Add("n", "count", cells.I64(1))
		})
	}
	for _, row := range []string{"a", "b", "c"} {
		put(row, "first")
	}
	from, target := dial(t, serveChanges(t, source)), inMemory(t)
	o := Options{Masks: []Mask{{"f", "*", Fake}}, MaskKey: []byte("0123456789abcdef"), pause: time.Millisecond, heartbeat: 20 * time.Millisecond}
	// follow follows until everything is in the target that was written before, and by
	// meanwhile, which is called as soon as the copy follows.
	follow := func(meanwhile func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		following, until := false, time.Time{}
		o := o
		o.Follow = true
		o.Progress = func(p Progress) {
			switch {
			case p.Through.IsZero():
			case !following:
				meanwhile()
				following, until = true, source.Now().Time()
			case p.Through.After(until):
				cancel()
			}
		}
		if _, err := Copy(ctx, from, target, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, is, err := target.Unfinished(t.Context()); !is || err != nil {
			t.Fatalf("unfinished: %v, %v", is, err)
		}
	}
	follow(func() {
		put("a", "second")
		put("d", "first")
		change("b", func(m *write.Mutation) { m.DeleteRow() })
	})
	put("c", "third") // while nobody follows
	follow(func() { put("e", "first") })
	o.Verify = true
	report := copyAll(t, from, target, o)
	if !report.Resumed || report.Different != 0 || report.Tables[0].Source.Rows != 4 || report.Tables[0].Source.Cells != 2+2+2*2+2 {
		t.Errorf("%+v", report)
	}
	if all := strings.Join(dump(t, target, "t"), "\n"); strings.Contains(all, "first") || !strings.Contains(all, `"a" n:"count"@0 2`) {
		t.Errorf("the target has %s", all)
	}
}

// A copy that cannot follow says why, and begins nothing.
func TestFollowNeedsStreams(t *testing.T) {
	e := newEmulator(t)
	e.fleet(1)
	db := inMemory(t)
	_, err := Copy(t.Context(), e.source, db, Options{Follow: true})
	if err == nil || err.Error() != "copy fleet: the table has no change stream in bigtable://p/i; give it one there, or copy without following" {
		t.Error(err)
	}
	if len(db.Schema().Tables) != 0 {
		t.Error("the target has tables")
	}
}

// A stream of changes ends with its context, also while nothing changes.
func TestChangesEndWithTheirContext(t *testing.T) {
	began := make(chan struct{})
	h := &hostile{changes: func(s bigtablepb.Bigtable_ReadChangeStreamServer) error {
		began <- struct{}{}
		<-s.Context().Done()
		return nil
	}}
	c := &copying{from: h.source(t)}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- c.changes(ctx, &table{id: "t"}, &bigtablepb.StreamPartition{}, time.Time{}, func([]string, time.Time) error { return nil })
		}()
		<-began
		cancel()
		if err := <-ended; err == nil {
			t.Error("it ended without an error")
		}
	}
}

// Partitions that move before the first row is copied are asked for again.
func TestFollowBeginsWhilePartitionsMove(t *testing.T) {
	asked, read := 0, 0
	h := &hostile{
		partitions: func() { asked++ },
		changes: func(s bigtablepb.Bigtable_ReadChangeStreamServer) error {
			m := &bigtablepb.ReadChangeStreamResponse{StreamRecord: &bigtablepb.ReadChangeStreamResponse_CloseStream_{CloseStream: &bigtablepb.ReadChangeStreamResponse_CloseStream{}}}
			if read++; read > 1 {
				m.StreamRecord = &bigtablepb.ReadChangeStreamResponse_Heartbeat_{Heartbeat: &bigtablepb.ReadChangeStreamResponse_Heartbeat{EstimatedLowWatermark: timestamppb.New(time.Unix(1, 0))}}
			}
			return s.Send(m)
		},
	}
	c := &copying{from: h.source(t), to: inMemory(t), o: Options{pause: time.Millisecond}, tables: []*table{{id: "t"}}}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	if err := c.beginChanges(t.Context(), nil); err != nil || asked != 2 {
		t.Errorf("partitions were asked for %d times: %v", asked, err)
	}
}

// A table that the source got after the copy began is followed too.
func TestFollowTakesNewTables(t *testing.T) {
	source := openTarget(t, t.TempDir())
	create := func(name string) {
		t.Helper()
		if err := source.CreateTable(t.Context(), schema.Table{Name: name, ChangeStream: 24 * time.Hour, Families: []schema.Family{{Name: "f"}}}); err != nil {
			t.Fatal(err)
		}
		m := write.NewMutation()
		m.Set("f", "q", cells.String("v"))
		if err := source.Table(name).Apply(t.Context(), "a", m); err != nil {
			t.Fatal(err)
		}
	}
	from, target := dial(t, serveChanges(t, source)), inMemory(t)
	o := Options{pause: time.Millisecond, heartbeat: 20 * time.Millisecond}
	for _, name := range []string{"t", "u"} {
		create(name)
		ctx, cancel := context.WithCancel(t.Context())
		o := o
		o.Follow = true
		o.Progress = func(p Progress) {
			if !p.Through.IsZero() {
				cancel()
			}
		}
		if _, err := Copy(ctx, from, target, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	o.Verify = true
	if report := copyAll(t, from, target, o); len(report.Tables) != 2 || report.Different != 0 || report.Tables[1].Target.Rows != 1 {
		t.Errorf("%+v", report)
	}
}
