package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// streamed makes a table with a change stream.
func (r *rig) streamed(name string, splits ...string) *bigtable.Table {
	r.t.Helper()
	r.must(r.admin().CreateTableFromConf(r.ctx(), &bigtable.TableConf{
		TableID: name, SplitKeys: splits, ChangeStreamRetention: 24 * time.Hour,
		ColumnFamilies: map[string]bigtable.Family{
			"f": {GCPolicy: bigtable.NoGcPolicy()}, "g": {GCPolicy: bigtable.MaxVersionsPolicy(1)},
			"sum": {ValueType: bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.SumAggregator{}}},
			"hll": {ValueType: bigtable.AggregateType{Input: bigtable.BytesType{}, Aggregator: bigtable.HllppUniqueCountAggregator{}}},
		},
	}))
	return r.client().Open(name)
}

func (r *rig) data() bigtablepb.BigtableClient { return bigtablepb.NewBigtableClient(r.conn) }

func tablePath(name string) string { return parent + "/tables/" + name }

func rowsPartition(start, end string) *bigtablepb.StreamPartition {
	return &bigtablepb.StreamPartition{RowRange: &bigtablepb.RowRange{
		StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(start)},
		EndKey:   &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(end)},
	}}
}

func since(t time.Time) *bigtablepb.ReadChangeStreamRequest_StartTime {
	return &bigtablepb.ReadChangeStreamRequest_StartTime{StartTime: timestamppb.New(t)}
}

func after(p *bigtablepb.StreamPartition, tokens ...string) *bigtablepb.ReadChangeStreamRequest_ContinuationTokens {
	all := &bigtablepb.StreamContinuationTokens{}
	for _, token := range tokens {
		all.Tokens = append(all.Tokens, &bigtablepb.StreamContinuationToken{Partition: p, Token: token})
	}
	return &bigtablepb.ReadChangeStreamRequest_ContinuationTokens{ContinuationTokens: all}
}

type dataChange = bigtablepb.ReadChangeStreamResponse_DataChange

// A change is a DataChange, joined from its messages as a client does.
type change struct {
	*dataChange // the first message
	last        *dataChange
	mutations   []*bigtablepb.Mutation
}

// A streamReader joins a stream's messages and checks them.
type streamReader struct {
	t      *testing.T
	stream bigtablepb.Bigtable_ReadChangeStreamClient
}

// next is one of a change, a heartbeat and a close; the error is the stream's.
func (r *streamReader) next() (*change, *bigtablepb.ReadChangeStreamResponse_Heartbeat, *bigtablepb.ReadChangeStreamResponse_CloseStream, error) {
	r.t.Helper()
	var c *change
	var value []byte
	for {
		m, err := r.stream.Recv()
		if err != nil {
			return nil, nil, nil, err
		}
		d := m.GetDataChange()
		if d == nil {
			if c != nil {
				r.t.Fatalf("%v between the messages of a change", m)
			}
			return nil, m.GetHeartbeat(), m.GetCloseStream(), nil
		}
		switch {
		case c == nil:
			c = &change{dataChange: d}
		case d.GetType() != bigtablepb.ReadChangeStreamResponse_DataChange_CONTINUATION || d.RowKey != nil || d.CommitTimestamp != nil:
			r.t.Fatalf("a further message of a change: %v", d)
		}
		for _, chunk := range d.GetChunks() {
			info := chunk.GetChunkInfo()
			if info == nil {
				c.mutations = append(c.mutations, chunk.GetMutation())
				continue
			}
			if int(info.GetChunkedValueOffset()) != len(value) {
				r.t.Fatalf("a chunk at %d, where %d bytes have come", info.GetChunkedValueOffset(), len(value))
			}
			if info.GetChunkedValueOffset() == 0 {
				c.mutations = append(c.mutations, chunk.GetMutation())
			}
			value = append(value, chunk.GetMutation().GetSetCell().GetValue()...)
			if info.GetLastChunk() {
				if len(value) != int(info.GetChunkedValueSize()) {
					r.t.Fatalf("a value of %d bytes in chunks of %d", info.GetChunkedValueSize(), len(value))
				}
				c.mutations[len(c.mutations)-1].GetSetCell().Value = value
				value = nil
			}
		}
		if d.GetDone() {
			if c.last = d; d.GetToken() == "" || d.GetEstimatedLowWatermark() == nil {
				r.t.Fatalf("the last message of a change: %v", d)
			}
			return c, nil, nil, nil
		}
	}
}

func (r *rig) open(req *bigtablepb.ReadChangeStreamRequest) *streamReader {
	r.t.Helper()
	stream, err := r.data().ReadChangeStream(r.ctx(), req)
	r.must(err)
	return &streamReader{r.t, stream}
}

// all reads until the stream is closed for good.
func (r *rig) all(req *bigtablepb.ReadChangeStreamRequest) (changes []*change) {
	r.t.Helper()
	req.EndTime = timestamppb.New(r.db.Now().Time())
	s := r.open(req)
	for {
		c, _, end, err := s.next()
		r.must(err)
		if end != nil {
			if end.GetStatus().GetCode() != 0 || len(end.GetContinuationTokens())+len(end.GetNewPartitions()) > 0 {
				r.t.Errorf("the stream ends with %v", end)
			}
			if _, err := s.stream.Recv(); !errors.Is(err, io.EOF) {
				r.t.Errorf("after the end of the stream: %v", err)
			}
			return changes
		}
		if c != nil {
			changes = append(changes, c)
		}
	}
}

// text is a change in short.
func (c *change) text() string {
	s := fmt.Sprintf("%s %s", c.GetType(), c.GetRowKey())
	for _, m := range c.mutations {
		switch m := m.GetMutation().(type) {
		case *bigtablepb.Mutation_SetCell_:
			s += fmt.Sprintf(" %s:%s@%d=%.20q", m.SetCell.GetFamilyName(), m.SetCell.GetColumnQualifier(), m.SetCell.GetTimestampMicros(), m.SetCell.GetValue())
		case *bigtablepb.Mutation_AddToCell_:
			s += fmt.Sprintf(" %s:%s+=%d", m.AddToCell.GetFamilyName(), m.AddToCell.GetColumnQualifier().GetRawValue(), m.AddToCell.GetInput().GetIntValue())
		case *bigtablepb.Mutation_MergeToCell_:
			s += fmt.Sprintf(" %s:%s merge", m.MergeToCell.GetFamilyName(), m.MergeToCell.GetColumnQualifier().GetRawValue())
		case *bigtablepb.Mutation_DeleteFromColumn_:
			r := m.DeleteFromColumn.GetTimeRange()
			s += fmt.Sprintf(" -%s:%s[%d,%d)", m.DeleteFromColumn.GetFamilyName(), m.DeleteFromColumn.GetColumnQualifier(), r.GetStartTimestampMicros(), r.GetEndTimestampMicros())
		case *bigtablepb.Mutation_DeleteFromFamily_:
			s += " -" + m.DeleteFromFamily.GetFamilyName()
		}
	}
	return s
}

func (r *rig) wantChanges(got []*change, want ...string) {
	r.t.Helper()
	var texts []string
	for _, c := range got {
		texts = append(texts, c.text())
	}
	if !slices.Equal(texts, want) {
		r.t.Errorf("changes\n got %s\nwant %s", strings.Join(texts, "\n     "), strings.Join(want, "\n     "))
	}
}

func TestChangeStream(t *testing.T) {
	r := newRig(t)
	table, began := r.streamed("t"), time.Now()
	write := func(row string, fill func(*bigtable.Mutation)) {
		t.Helper()
		m := bigtable.NewMutation()
		fill(m)
		r.must(table.Apply(r.ctx(), row, m))
	}
	write("a", func(m *bigtable.Mutation) {
		m.Set("f", "q", 1000, []byte("one"))
		m.Set("g", "q", 2000, []byte("two"))
		m.AddIntToCell("sum", "n", 0, 5)
		m.DeleteTimestampRange("f", "q", 3000, 4000)
		m.DeleteCellsInFamily("g")
	})
	big := bytes.Repeat([]byte("0123456789"), 300_000)
	write("b", func(m *bigtable.Mutation) {
		m.Set("f", "small", 1000, []byte("s"))
		m.Set("f", "big", 1000, big)
		m.Set("f", "end", 1000, nil)
	})
	rmw := bigtable.NewReadModifyWrite()
	rmw.AppendValue("f", "log", []byte("x"))
	_, err := table.ApplyReadModifyWrite(r.ctx(), "a", rmw)
	r.must(err)
	for _, ts := range []bigtable.Timestamp{1000, 2000} {
		write("v", func(m *bigtable.Mutation) { m.Set("g", "q", ts, []byte("v")) })
	}
	write("a", func(m *bigtable.Mutation) { m.DeleteRow() })
	r.must(r.admin().DropRowRange(r.ctx(), "t", "b"))
	if _, err := r.db.GC(r.ctx(), "proj/inst/t", query.GCOptions{}); err != nil {
		t.Fatal(err)
	}

	all := r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("", ""), StartFrom: since(began)})
	if len(all) < 3 || len(all[2].mutations) != 1 {
		t.Fatalf("%d changes", len(all))
	}
	if v := all[1].mutations[1].GetSetCell().GetValue(); !bytes.Equal(v, big) {
		t.Errorf("the large value has %d bytes, or is another", len(v))
	}
	log := all[2].mutations[0].GetSetCell()
	log.TimestampMicros = 0 // the server's
	want := []string{
		`USER a f:q@1000="one" g:q@2000="two" sum:n+=5 -f:q[3000,4000) -g`,
		`USER b f:small@1000="s" f:big@1000="01234567890123456789" f:end@1000=""`,
		`USER a f:log@0="x"`,
		`USER v g:q@1000="v"`, `USER v g:q@2000="v"`,
		`USER a -f -g -hll -sum`, `USER b -f -g -hll -sum`,
		`GARBAGE_COLLECTION v -g:q[0,2000)`,
	}
	r.wantChanges(all, want...)
	for i, c := range all {
		if c.GetCommitTimestamp().AsTime().Before(began) || c.last.GetEstimatedLowWatermark().AsTime().After(c.GetCommitTimestamp().AsTime()) {
			t.Errorf("change %d was made at %v, with a watermark of %v", i, c.GetCommitTimestamp().AsTime(), c.last.GetEstimatedLowWatermark().AsTime())
		}
		if collected := c.GetType() == bigtablepb.ReadChangeStreamResponse_DataChange_GARBAGE_COLLECTION; collected != (c.GetSourceClusterId() == "") {
			t.Errorf("change %d comes from cluster %q", i, c.GetSourceClusterId())
		}
		if i < len(all)-1 {
			rest := r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("", ""), StartFrom: after(rowsPartition("", ""), c.last.GetToken())})
			if len(rest) != len(all)-1-i {
				t.Errorf("behind change %d there are %d, want %d", i, len(rest), len(all)-1-i)
			}
		}
	}
	r.wantChanges(r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("u", "w"), StartFrom: since(began)}), want[3], want[4], want[7])
}

// The database's clock is ahead of the wall clock after a crash, or when the wall clock
// was set back. A client that reads until its own time still gets all acknowledged
// writes.
func TestAChangeStreamUntilTheClientsNowHasWhatWasAcknowledged(t *testing.T) {
	ahead := atomic.Bool{}
	db, err := query.OpenInMemory(query.Options{Clock: func() time.Time {
		if ahead.Load() {
			return time.Now().Add(time.Hour)
		}
		return time.Now()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := serve(t, db, server.Options{})
	table, began := r.streamed("t"), time.Now()
	for _, row := range []string{"a", "b"} { // the second when the wall clock was set back
		ahead.Store(row == "a")
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, []byte("v"))
		r.must(table.Apply(r.ctx(), row, m))
	}
	s := r.open(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began), EndTime: timestamppb.Now()})
	var rows []string
	for {
		c, _, end, err := s.next()
		r.must(err)
		if end != nil {
			break
		}
		if c != nil {
			rows = append(rows, string(c.GetRowKey()))
		}
	}
	if !slices.Equal(rows, []string{"a", "b"}) {
		t.Errorf("read the changes of %q", rows)
	}
}

func TestChangeStreamPartitionsCoverTheTable(t *testing.T) {
	r := newRig(t)
	r.streamed("one")
	r.streamed("three", "m", "d")
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%03d", i))
	}
	r.streamed("many", many...)
	r.table("none", "f")
	partitions := func(name string) (ps []*bigtablepb.StreamPartition, err error) {
		stream, err := r.data().GenerateInitialChangeStreamPartitions(r.ctx(), &bigtablepb.GenerateInitialChangeStreamPartitionsRequest{TableName: tablePath(name)})
		r.must(err)
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return ps, nil
			}
			if err != nil {
				return nil, err
			}
			ps = append(ps, m.GetPartition())
		}
	}
	for name, want := range map[string]int{"one": 1, "three": 3, "many": 16} {
		ps, err := partitions(name)
		r.must(err)
		end := ""
		for i, p := range ps {
			if start := string(p.GetRowRange().GetStartKeyClosed()); start != end || i > 0 && start == "" {
				t.Errorf("%s: partition %d starts at %q, the one before ends at %q", name, i, start, end)
			}
			end = string(p.GetRowRange().GetEndKeyOpen())
		}
		if len(ps) != want || end != "" {
			t.Errorf("%s: %d partitions, the last one to %q", name, len(ps), end)
		}
	}
	_, err := partitions("none")
	refused(t, "partitions of a table without a stream", err, codes.FailedPrecondition, "change stream is not enabled")
	_, err = partitions("unknown")
	refused(t, "partitions of no table", err, codes.NotFound, "not found")

	// Streams of parts can be continued as one stream.
	began := time.Now()
	table := r.client().Open("three")
	for _, row := range []string{"a", "e", "z", "b", "f"} {
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, nil)
		r.must(table.Apply(r.ctx(), row, m))
	}
	left := r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("three"), Partition: rowsPartition("", "d"), StartFrom: since(began)})
	right := r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("three"), Partition: rowsPartition("d", "m"), StartFrom: since(began)})
	r.wantChanges(left, `USER a f:q@1000=""`, `USER b f:q@1000=""`)
	both := after(rowsPartition("", "d"), left[1].last.GetToken())
	both.ContinuationTokens.Tokens = append(both.ContinuationTokens.Tokens, after(rowsPartition("d", "m"), right[0].last.GetToken()).ContinuationTokens.Tokens...)
	r.wantChanges(r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("three"), Partition: rowsPartition("", "m"), StartFrom: both}), `USER f f:q@1000=""`)
}

func TestChangeStreamRefusals(t *testing.T) {
	r := newRig(t)
	r.table("none", "f")
	table := r.streamed("t")
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, nil)
	began := time.Now()
	r.must(table.Apply(r.ctx(), "r", m))
	token := r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began)})[0].last.GetToken()
	whole := rowsPartition("", "")
	for name, c := range map[string]struct {
		req  *bigtablepb.ReadChangeStreamRequest
		code codes.Code
		says string
	}{
		"no table":             {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("unknown")}, codes.NotFound, "not found"},
		"no stream":            {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("none"), Partition: whole}, codes.FailedPrecondition, "change stream is not enabled"},
		"long ago":             {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began.Add(-25 * time.Hour))}, codes.OutOfRange, "not kept"},
		"before the stream":    {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began.Add(-time.Hour))}, codes.OutOfRange, "not kept"},
		"in future":            {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began.Add(time.Hour))}, codes.InvalidArgument, "in the future"},
		"ends before":          {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began), EndTime: timestamppb.New(began.Add(-time.Second))}, codes.InvalidArgument, "before"},
		"no token":             {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: after(whole)}, codes.InvalidArgument, "no tokens"},
		"a damaged token":      {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: after(whole, "token")}, codes.InvalidArgument, "damaged"},
		"of another partition": {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("a", "b"), StartFrom: after(rowsPartition("a", "b"), token)}, codes.InvalidArgument, "do not fit the rows to read"},
		"said to be another's": {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: whole, StartFrom: after(rowsPartition("a", "b"), token)}, codes.InvalidArgument, "another partition"},
		"an inverted range":    {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("b", "a")}, codes.InvalidArgument, "no rows"},
		"an open start": {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: &bigtablepb.StreamPartition{
			RowRange: &bigtablepb.RowRange{StartKey: &bigtablepb.RowRange_StartKeyOpen{StartKeyOpen: []byte("a")}}}}, codes.InvalidArgument, "start_key_closed"},
		"no time between": {&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), HeartbeatDuration: durationpb.New(-1)}, codes.InvalidArgument, "heartbeat"},
	} {
		_, _, _, err := r.open(c.req).next()
		refused(t, name, err, c.code, c.says)
	}

	tables := adminpb.NewBigtableTableAdminClient(r.conn)
	for _, d := range []time.Duration{time.Hour, 8 * 24 * time.Hour} {
		_, err := tables.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: "wrong", Table: &adminpb.Table{
			ChangeStreamConfig: &adminpb.ChangeStreamConfig{RetentionPeriod: durationpb.New(d)}}})
		refused(t, "a retention of "+d.String(), err, codes.InvalidArgument, "1d to 7d")
	}

	// A stream that ends while it is read; its tokens become invalid.
	s := r.open(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began)})
	if _, _, _, err := s.next(); err != nil {
		t.Fatal(err)
	}
	r.must(r.admin().UpdateTableDisableChangeStream(r.ctx(), "t"))
	_, _, _, err := s.next()
	refused(t, "a stream that is disabled", err, codes.FailedPrecondition, "change stream is not enabled")
	r.must(r.admin().UpdateTableWithChangeStream(r.ctx(), "t", 48*time.Hour))
	if info, err := r.admin().TableInfo(r.ctx(), "t"); err != nil || info.ChangeStreamRetention != 48*time.Hour {
		t.Errorf("the table's stream: %+v, %v", info, err)
	}
	_, _, _, err = r.open(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: after(nil, token)}).next()
	refused(t, "a token of a stream that was disabled", err, codes.OutOfRange, "ended")
}

func TestChangeStreamHeartbeatsAndWaits(t *testing.T) {
	r := newRig(t)
	table := r.streamed("t")
	s := r.open(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("", ""), HeartbeatDuration: durationpb.New(20 * time.Millisecond)})
	beat := func() *bigtablepb.ReadChangeStreamResponse_Heartbeat {
		t.Helper()
		_, b, _, err := s.next()
		r.must(err)
		if b.GetContinuationToken().GetToken() == "" || b.GetEstimatedLowWatermark() == nil || b.GetContinuationToken().GetPartition().GetRowRange() == nil {
			t.Fatalf("heartbeat %v", b)
		}
		return b
	}
	first, second := beat(), beat()
	if !second.GetEstimatedLowWatermark().AsTime().After(first.GetEstimatedLowWatermark().AsTime()) {
		t.Errorf("watermarks %v, then %v", first.GetEstimatedLowWatermark().AsTime(), second.GetEstimatedLowWatermark().AsTime())
	}
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, []byte("v"))
	r.must(table.Apply(r.ctx(), "r", m))
	for {
		c, _, _, err := s.next()
		r.must(err)
		if c != nil {
			r.wantChanges([]*change{c}, `USER r f:q@1000="v"`)
			break
		}
	}
	from := after(nil, second.GetContinuationToken().GetToken())
	r.wantChanges(r.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: from}), `USER r f:q@1000="v"`)
}

// A primary in whose place another server was promoted ends its streams, which would wait
// for changes that come there, and refuses further ones.
func TestAFencedPrimaryEndsChangeStreams(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f := &feed{fenced: make(chan struct{}), leader: "db2:8086"}
	r := serve(t, db, server.Options{Standbys: f})
	r.streamed("t")
	req := &bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), HeartbeatDuration: durationpb.New(10 * time.Millisecond)}
	s := r.open(req)
	if _, b, _, err := s.next(); b == nil || err != nil { // it has begun
		t.Fatal(b, err)
	}
	close(f.fenced)
	for err = nil; err == nil; {
		_, _, _, err = s.next()
	}
	refused(t, "a stream under way", err, codes.Unavailable, "db2:8086 was promoted in the place of this server")
	r.until("a new stream is refused", func() bool {
		_, _, _, err = r.open(req).next()
		return err != nil
	})
	refused(t, "a new stream", err, codes.Unavailable, "db2:8086")
}

// TestChangeStreamsEndInOrder: streams end in order when the server stops, and at the
// deadline.
func TestChangeStreamsEndInOrder(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first := serve(t, db, server.Options{})
	table, began := first.streamed("t"), time.Now()
	write := func(table *bigtable.Table, row string) {
		t.Helper()
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, nil)
		first.must(table.Apply(first.ctx(), row, m))
	}
	write(table, "a")
	req := &bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), Partition: rowsPartition("", ""), StartFrom: since(began)}
	idle := first.open(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), HeartbeatDuration: durationpb.New(10 * time.Millisecond)})
	if _, b, _, err := idle.next(); b == nil || err != nil { // it has begun
		t.Fatal(b, err)
	}
	s := first.open(req)
	c, _, _, err := s.next()
	first.must(err)
	first.wantChanges([]*change{c}, `USER a f:q@1000=""`)
	go first.stop()
	closed := func(s *streamReader) string {
		t.Helper()
		for {
			_, _, end, err := s.next()
			first.must(err)
			if end == nil {
				continue
			}
			if end.GetStatus().GetCode() != 0 || len(end.GetContinuationTokens()) != 1 || len(end.GetNewPartitions()) != 1 {
				t.Fatalf("the stream ends with %v", end)
			}
			return end.GetContinuationTokens()[0].GetToken()
		}
	}
	token := closed(s)
	closed(idle)
	first.stop()

	second := serve(t, db, server.Options{Limits: server.Limits{Deadline: 2 * time.Second}})
	write(second.client().Open("t"), "b")
	req.StartFrom = after(rowsPartition("", ""), token)
	s = second.open(req)
	c, _, _, err = s.next()
	second.must(err)
	second.wantChanges([]*change{c}, `USER b f:q@1000=""`)
	closed(s)
}

// A client that does not read does not block the server, and can continue later.
func TestAChangeStreamThatNobodyReadsEnds(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := serve(t, db, server.Options{Limits: server.Limits{SendTimeout: 50 * time.Millisecond}})
	table, began := r.streamed("t"), time.Now()
	for i := range 40 {
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, make([]byte, 400<<10))
		r.must(table.Apply(r.ctx(), fmt.Sprintf("%03d", i), m))
	}
	s := r.open(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: since(began)})
	token, n := "", 0
	for {
		c, _, _, err := s.next()
		if status.Code(err) == codes.Unavailable {
			break
		}
		r.must(err)
		token, n = c.last.GetToken(), n+1
		if n == 1 {
			time.Sleep(300 * time.Millisecond)
		}
		if n == 40 {
			t.Skip("gRPC took it all")
		}
	}
	patient := serve(t, db, server.Options{}) // whose client may be slow
	rest := patient.all(&bigtablepb.ReadChangeStreamRequest{TableName: tablePath("t"), StartFrom: after(nil, token)})
	if n+len(rest) != 40 {
		t.Errorf("%d changes before the end, and %d after it", n, len(rest))
	}
}

func TestChangeStreamsNeedTheRightToRead(t *testing.T) {
	r, tokens := guarded(t)
	reader := newToken(t, tokens, "reader", time.Time{}, grant(server.Read, "mine"))
	r.must(r.db.SetChangeStream(r.ctx(), "mine", 24*time.Hour))
	for _, c := range []struct {
		table, secret string
		want          codes.Code
	}{
		{"mine", reader, codes.OK},
		{"other", reader, codes.PermissionDenied},
		{"mine", "", codes.Unauthenticated},
	} {
		read, err := r.data().ReadChangeStream(r.with(c.secret), &bigtablepb.ReadChangeStreamRequest{
			TableName: tablePath(c.table), EndTime: timestamppb.New(r.db.Now().Time())})
		r.must(err)
		if _, err := read.Recv(); status.Code(err) != c.want {
			t.Errorf("reading the changes of %s: %v, want %v", c.table, err, c.want)
		}
		parts, err := r.data().GenerateInitialChangeStreamPartitions(r.with(c.secret), &bigtablepb.GenerateInitialChangeStreamPartitionsRequest{TableName: tablePath(c.table)})
		r.must(err)
		if _, err := parts.Recv(); status.Code(err) != c.want {
			t.Errorf("the partitions of %s: %v, want %v", c.table, err, c.want)
		}
	}
}
