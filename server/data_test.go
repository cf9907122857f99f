package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// show is a row on one line: key family:qualifier@ts=value[labels].
func show(row bigtable.Row) string {
	if row == nil {
		return "(none)"
	}
	var b strings.Builder
	b.WriteString(row.Key())
	var families []string
	for f := range row {
		families = append(families, f)
	}
	for _, f := range sorted(families) {
		for _, item := range row[f] {
			fmt.Fprintf(&b, " %s@%d=%s", item.Column, item.Timestamp, item.Value)
			if len(item.Labels) > 0 {
				fmt.Fprintf(&b, "%v", item.Labels)
			}
		}
	}
	return b.String()
}

func (r *rig) rows(t *bigtable.Table, set bigtable.RowSet, opts ...bigtable.ReadOption) string {
	r.t.Helper()
	var lines []string
	err := t.ReadRows(r.ctx(), set, func(row bigtable.Row) bool {
		lines = append(lines, show(row))
		return true
	}, opts...)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func (r *rig) set(t *bigtable.Table, key string, cells ...string) {
	r.t.Helper()
	m := bigtable.NewMutation()
	for _, c := range cells {
		column, value, _ := strings.Cut(c, "=")
		family, qualifier, _ := strings.Cut(column, ":")
		m.Set(family, qualifier, 1000, []byte(value))
	}
	r.must(t.Apply(r.ctx(), key, m))
}

func TestReadsAndWrites(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "g")
	r.set(tab, "a", "f:x=1", "g:=2")
	r.set(tab, "b", "f:x=3")
	r.set(tab, "c", "g:y=")
	for _, c := range []struct{ got, want string }{
		{r.rows(tab, bigtable.InfiniteRange("")), "a f:x@1000=1 g:@1000=2\nb f:x@1000=3\nc g:y@1000="},
		{r.rows(tab, bigtable.PrefixRange("b")), "b f:x@1000=3"},
		{r.rows(tab, bigtable.NewRange("a", "c")), "a f:x@1000=1 g:@1000=2\nb f:x@1000=3"},
		{r.rows(tab, bigtable.NewOpenRange("a", "c")), "b f:x@1000=3"},
		{r.rows(tab, bigtable.NewOpenClosedRange("a", "c")), "b f:x@1000=3\nc g:y@1000="},
		{r.rows(tab, bigtable.RowList{"c", "a", "x", "a"}), "a f:x@1000=1 g:@1000=2\nc g:y@1000="},
		{r.rows(tab, bigtable.InfiniteRange(""), bigtable.LimitRows(1)), "a f:x@1000=1 g:@1000=2"},
		{r.rows(tab, bigtable.InfiniteRange(""), bigtable.ReverseScan(), bigtable.LimitRows(2)), "c g:y@1000=\nb f:x@1000=3"},
		{r.rows(tab, bigtable.InfiniteRange(""), bigtable.RowFilter(bigtable.FamilyFilter("g"))), "a g:@1000=2\nc g:y@1000="},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
	row, err := tab.ReadRow(r.ctx(), "nobody")
	if row != nil || err != nil {
		t.Errorf("a row that is not there: %v, %v", row, err)
	}
}

// Bigtable's Go client accepts no message that ends within a row. It accepts messages
// larger than 4 MiB if it is configured so.
func TestLargeRowsAreWhole(t *testing.T) {
	r := newRig(t)
	r.conn = r.dial(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1 << 28)))
	tab := r.table("t", "f")
	for i, size := range []int{0, 1, 512 << 10, 512<<10 + 1, 1 << 20, 2<<20 + 5, 20 << 20} {
		value := bytes.Repeat([]byte{byte('a' + i)}, size)
		m := bigtable.NewMutation()
		m.Set("f", "big", 1000, value)
		m.Set("f", "next", 1000, []byte("small"))
		key := fmt.Sprintf("row%d", i)
		r.must(tab.Apply(r.ctx(), key, m))
		row, err := tab.ReadRow(r.ctx(), key)
		r.must(err)
		if len(row["f"]) != 2 || !bytes.Equal(row["f"][0].Value, value) || string(row["f"][1].Value) != "small" {
			t.Errorf("a value of %d bytes came back as one of %d", size, len(row["f"][0].Value))
		}
	}
	if n := strings.Count(r.rows(tab, bigtable.InfiniteRange(""), bigtable.RowFilter(bigtable.StripValueFilter())), "\n"); n != 6 {
		t.Errorf("%d rows", n+1)
	}
}

// Other clients get a large row in messages of about 1 MiB.
func TestLargerRowsAreSplit(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	value := make([]byte, 20<<20)
	for i := range value {
		value[i] = byte(i * 7 >> 8)
	}
	m := bigtable.NewMutation()
	m.Set("f", "big", 1000, value)
	m.Set("f", "next", 1000, []byte("small"))
	r.must(tab.Apply(r.ctx(), "a", m))
	r.set(tab, "b", "f:x=1")
	messages := r.read(&bigtablepb.ReadRowsRequest{TableName: parent + "/tables/t"})
	var got []byte
	rows := 0
	for _, m := range messages {
		if n := proto.Size(m); n > 1<<20+100 {
			t.Errorf("a message has %d bytes", n)
		}
		for _, c := range m.GetChunks() {
			if size := c.GetValueSize(); size != 0 && int(size) != len(value) {
				t.Errorf("value_size is %d", size)
			}
			if rows == 0 && len(got) < len(value) {
				got = append(got, c.GetValue()...)
			}
			if c.GetCommitRow() {
				rows++
			}
		}
	}
	if rows != 2 || !bytes.Equal(got, value) {
		t.Errorf("%d rows, and the first value has %d bytes; want 2, and %d", rows, len(got), len(value))
	}
}

// Python's client accepts a message that begins within a row only if the message
// repeats the row key.
func TestPythonGetsTheKeyInEachMessage(t *testing.T) {
	r := newRig(t)
	r.conn = r.dial(grpc.WithUserAgent("grpc-python/1.80.0"))
	tab := r.table("t", "f")
	for _, key := range []string{"a", "b"} {
		m := bigtable.NewMutation()
		m.Set("f", "big", 1000, make([]byte, 6<<20))
		r.must(tab.Apply(r.ctx(), key, m))
	}
	ctx := metadata.AppendToOutgoingContext(r.ctx(), "x-goog-api-client", "gl-python/3.11")
	stream, err := bigtablepb.NewBigtableClient(r.conn).ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: parent + "/tables/t"})
	r.must(err)
	messages := 0
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		r.must(err)
		messages++
		keys := 0
		for _, c := range m.GetChunks() {
			if len(c.GetRowKey()) > 0 {
				keys++
			}
		}
		if n := len(m.GetChunks()); n == 0 || len(m.GetChunks()[0].GetRowKey()) == 0 || keys > 2 {
			t.Errorf("message %d: %d chunks, %d keys, and the first has %q", messages, n, keys, m.GetChunks()[0].GetRowKey())
		}
	}
	if messages < 12 {
		t.Errorf("only %d messages", messages)
	}
}

// read is a ReadRows without the client's own handling.
func (r *rig) read(req *bigtablepb.ReadRowsRequest) []*bigtablepb.ReadRowsResponse {
	r.t.Helper()
	messages, err := r.tryRead(req)
	r.must(err)
	return messages
}

func (r *rig) tryRead(req *bigtablepb.ReadRowsRequest) ([]*bigtablepb.ReadRowsResponse, error) {
	stream, err := bigtablepb.NewBigtableClient(r.conn).ReadRows(r.ctx(), req)
	r.must(err)
	var messages []*bigtablepb.ReadRowsResponse
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return messages, nil
		}
		if err != nil {
			return messages, err
		}
		messages = append(messages, m)
	}
}

func TestMutationsOfARequestAreAtomic(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	m := bigtable.NewMutation()
	m.Set("f", "x", 1000, []byte("1"))
	m.Set("nope", "x", 1000, []byte("1"))
	err := tab.Apply(r.ctx(), "a", m)
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "not found") {
		t.Errorf("an unknown family: %v", err)
	}
	if got := r.rows(tab, bigtable.InfiniteRange("")); got != "" {
		t.Errorf("the half of it was written: %s", got)
	}
}

// A plain gRPC client gets every cell with its row, family and column, as from the
// emulator; for Bigtable's clients, names that are the same as before are omitted.
func TestChunksOfPlainClients(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	data := bigtablepb.NewBigtableClient(r.conn)
	_, err := data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{setCell("f", "q", 1000, "a"), setCell("f", "q", 2000, "b")}})
	r.must(err)
	read := func(ctx context.Context) (chunks []*bigtablepb.ReadRowsResponse_CellChunk) {
		stream, err := data.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: tableT})
		r.must(err)
		for {
			m, err := stream.Recv()
			if err == io.EOF {
				return chunks
			}
			r.must(err)
			chunks = append(chunks, m.GetChunks()...)
		}
	}
	for _, c := range read(r.ctx()) {
		if string(c.GetRowKey()) != "k" || c.GetFamilyName().GetValue() != "f" || string(c.GetQualifier().GetValue()) != "q" {
			t.Errorf("a chunk is %v", c)
		}
	}
	second := read(metadata.AppendToOutgoingContext(r.ctx(), "x-goog-api-client", "gl-go/1"))[1]
	if second.RowKey != nil || second.FamilyName != nil || second.Qualifier != nil {
		t.Errorf("the second chunk of a column is %v", second)
	}
}
