package bigtable

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
)

// A hostile source answers as a test says. It has one table, t.
type hostile struct {
	bigtablepb.UnimplementedBigtableServer
	adminpb.UnimplementedBigtableTableAdminServer
	families map[string]*adminpb.ColumnFamily
	answers  []string // to calls of ReadRows, in turn: chunks as in TestChunks; / parts messages
	samples  []string
	// rows, if it is set, is the answer to ReadRows.
	rows func(bigtablepb.Bigtable_ReadRowsServer) error

	partitions func() // is called when they are asked for
	changes    func(bigtablepb.Bigtable_ReadChangeStreamServer) error
}

func (h *hostile) GenerateInitialChangeStreamPartitions(_ *bigtablepb.GenerateInitialChangeStreamPartitionsRequest, s bigtablepb.Bigtable_GenerateInitialChangeStreamPartitionsServer) error {
	h.partitions()
	return s.Send(&bigtablepb.GenerateInitialChangeStreamPartitionsResponse{Partition: &bigtablepb.StreamPartition{}})
}

func (h *hostile) ReadChangeStream(_ *bigtablepb.ReadChangeStreamRequest, s bigtablepb.Bigtable_ReadChangeStreamServer) error {
	return h.changes(s)
}

func (h *hostile) GetTable(context.Context, *adminpb.GetTableRequest) (*adminpb.Table, error) {
	return &adminpb.Table{Name: parent + "/tables/t", ColumnFamilies: h.families}, nil
}

func (h *hostile) ListTables(context.Context, *adminpb.ListTablesRequest) (*adminpb.ListTablesResponse, error) {
	return &adminpb.ListTablesResponse{Tables: []*adminpb.Table{{Name: parent + "/tables/t"}}}, nil
}

func (h *hostile) SampleRowKeys(_ *bigtablepb.SampleRowKeysRequest, s bigtablepb.Bigtable_SampleRowKeysServer) error {
	for _, key := range h.samples {
		if err := s.Send(&bigtablepb.SampleRowKeysResponse{RowKey: []byte(key)}); err != nil {
			return err
		}
	}
	return nil
}

// ReadRows gives the next answer; one that ends with "fails" ends so.
func (h *hostile) ReadRows(_ *bigtablepb.ReadRowsRequest, s bigtablepb.Bigtable_ReadRowsServer) error {
	if h.rows != nil {
		return h.rows(s)
	}
	if len(h.answers) == 0 {
		return nil
	}
	answer, fails := strings.CutSuffix(h.answers[0], "fails")
	h.answers = h.answers[1:]
	for message := range strings.SplitSeq(answer, "/") {
		m := &bigtablepb.ReadRowsResponse{}
		for words := range strings.SplitSeq(message, "|") {
			m.Chunks = append(m.Chunks, chunk(words))
		}
		if err := s.Send(m); err != nil {
			return err
		}
	}
	if fails {
		return status.Error(codes.Unavailable, "it fails here")
	}
	return nil
}

func (h *hostile) source(t *testing.T) *Source {
	t.Helper()
	if h.families == nil {
		sum := &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: &adminpb.Type_Aggregate{Aggregator: &adminpb.Type_Aggregate_Sum_{Sum: &adminpb.Type_Aggregate_Sum{}}}}}
		h.families = map[string]*adminpb.ColumnFamily{"f": {}, "n": {ValueType: sum}}
	}
	g := grpc.NewServer()
	bigtablepb.RegisterBigtableServer(g, h)
	adminpb.RegisterBigtableTableAdminServer(g, h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return dial(t, l.Addr().String())
}

// A row that the source takes back, or that is gone when the read is made again, leaves no
// cells, although they were written, and no adds that count twice.
func TestRowsThatBeginAnew(t *testing.T) {
	const one = "row=a f=f q=x v=1 | q=y v=2 | f=n q=c v=\x00\x00\x00\x00\x00\x00\x00\x05"
	for _, c := range []struct {
		answers []string
		want    string
	}{
		{[]string{one + " / reset / row=a f=f q=z v=3 | f=n q=c v=\x00\x00\x00\x00\x00\x00\x00\x05 commit"}, `"a" f:"z"@0 "3" "a" n:"c"@0 5`},
		{[]string{one + "fails", one + " commit"}, `"a" f:"x"@0 "1" "a" f:"y"@0 "2" "a" n:"c"@0 5`},
		{[]string{one + "fails", "row=b f=f q=x v=1 commit"}, `"b" f:"x"@0 "1"`},
		{[]string{one, "row=a f=f q=x v=1 commit"}, `"a" f:"x"@0 "1"`}, // an answer that ends within a row
		{[]string{"row=0 f=f q=x v=0 commit | " + one + "fails"}, `"0" f:"x"@0 "0"`},
	} {
		for _, flushAt := range []int{1, 1 << 20} {
			h := &hostile{answers: c.answers}
			db := inMemory(t)
			report := copyAll(t, h.source(t), db, Options{flushAt: flushAt, pause: time.Millisecond})
			if got := strings.Join(dump(t, db, "t"), " "); got != c.want {
				t.Errorf("%q with batches of %d bytes\n got %s\nwant %s", c.answers, flushAt, got, c.want)
			}
			if want := int64(strings.Count(c.want, "@")); report.Tables[0].Copied.Cells != want {
				t.Errorf("%q: reported %+v, want %d cells", c.answers, report.Tables[0].Copied, want)
			}
		}
	}
}

// What a source has and a database cannot have is an error that names it.
func TestWhatCannotBeCopied(t *testing.T) {
	hll := &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: &adminpb.Type_Aggregate{Aggregator: &adminpb.Type_Aggregate_HllppUniqueCount{}}}}
	for _, c := range []struct {
		h    *hostile
		want string
	}{
		{&hostile{families: map[string]*adminpb.ColumnFamily{"a b": {}}}, `copy t: column family: `},
		{&hostile{families: map[string]*adminpb.ColumnFamily{"u": {ValueType: hll}}}, "copy t: family u counts distinct values, and a read gives their number, not the set; copy the other tables, by their names"},
		{&hostile{answers: []string{"row=a f=f q=x ts=-1 v=1 commit"}}, `copy t "a": f:"x" has the timestamp -1; it must be at least 0`},
		{&hostile{answers: []string{"row=a f=n q=x v=1 commit"}}, `copy t "a": at 0: n:"x": the value has 1 bytes; the family's type is i64, which has 8`},
		{&hostile{answers: []string{"row=" + strings.Repeat("k", 70_000) + " f=f q=x v=1 commit"}}, `copy t: row key of 70000 bytes starting`},
		{&hostile{answers: []string{"row=a f=f q=" + strings.Repeat("q", 70_000) + " v=1 commit"}}, `copy t "a": a qualifier has 70000 bytes; it may have up to 16384`},
		{&hostile{answers: []string{"row=a f=zz q=x v=1 commit"}}, `copy t "a": family "zz" was created after the copy began; copy again, into a new database`},
	} {
		_, err := Copy(t.Context(), c.h.source(t), inMemory(t), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(err.Error()) > 1000 || query.KindOf(err) == query.KindInternal {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// Samples of keys that make no ranges are left out.
func TestOddSamplesOfKeys(t *testing.T) {
	h := &hostile{samples: []string{"m", "c", "m", "", "x", "x"}}
	c := &copying{from: h.source(t)}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]string{"": "[- m] [m x] [x -]", "m": "[m n]", "w": "[w x]"} {
		c.o.Prefix = prefix
		ranges, err := c.split(t.Context(), &table{id: "t"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range ranges {
			got = append(got, "["+orDash(r.Start)+" "+orDash(r.End)+"]")
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("prefix %q: %s, want %s", prefix, got, want)
		}
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// A deadline ends a copy as what it is.
func TestDeadline(t *testing.T) {
	h := &hostile{answers: []string{"row=a f=f q=x commit"}}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := Copy(ctx, h.source(t), inMemory(t), Options{}); !errors.Is(err, context.DeadlineExceeded) || query.KindOf(err) != query.KindCanceled {
		t.Error(err)
	}
}
