package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// A client that asks for many large rows at once and reads none of them does not
// push the memory of the process beyond what the flags allow.
func TestOneClientCannotTakeAllMemory(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async", "--memory", "32MiB",
		"--max-connection-bytes", "64MiB", "--max-bytes", "96MiB")
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	const instance, table = "projects/local/instances/local", "projects/local/instances/local/tables/t"
	if _, err := adminpb.NewBigtableTableAdminClient(conn).CreateTable(ctx, &adminpb.CreateTableRequest{Parent: instance, TableId: "t",
		Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}}}); err != nil {
		t.Fatal(err)
	}
	data := bigtablepb.NewBigtableClient(conn)
	value := bytes.Repeat([]byte("v"), 1<<20)
	for i := range 24 {
		if _, err := data.MutateRow(ctx, &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte("r"), Mutations: []*bigtablepb.Mutation{{
			Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: fmt.Appendf(nil, "q%02d", i), TimestampMicros: 1000, Value: value}},
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	before := peakMemory(t, s)

	const streams = 80 // of 24 MiB: 1.9 GiB
	outcomes := make(chan error, streams)
	for range streams {
		stream, err := data.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: table})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, err := stream.Recv(); err != nil {
				outcomes <- err
				return
			}
			<-ctx.Done() // reads no more
		}()
	}
	for range streams - 4 {
		if err := <-outcomes; status.Code(err) != codes.Unavailable {
			t.Fatalf("a read that there is no room for: %v", err)
		}
	}
	if grown := peakMemory(t, s) - before; grown > 256<<20 {
		t.Errorf("the process grew by %d MiB", grown>>20)
	} else {
		t.Logf("from %d MiB by %d MiB", before>>20, grown>>20)
	}
}

var boundFull = flag.Bool("bound.full", false, "let clients that stop reading ask for gigabytes")

// Readers that stop after their first message: the memory of the process stays below
// the sum of its flags and a fixed part, for any number of readers and any rows.
// Another client's small reads still succeed.
func TestReadersThatStopDoNotTakeTheMemory(t *testing.T) {
	type attack struct {
		name                        string
		readers, rows, cells, value int
	}
	attacks, memory, inHand := []attack{
		{"many readers of small rows", 600, 4000, 1, 4 << 10},
		{"some readers of a large row", 30, 1, 24, 1 << 20},
		{"some readers of large values", 20, 4, 1, 10 << 20},
	}, 32, 96
	if *boundFull {
		attacks, memory, inHand = []attack{
			{"10,000 readers of small rows", 10_000, 20_000, 1, 4 << 10},
			{"30 readers of a row of 200 MB", 30, 1, 200, 1 << 20},
			{"50 readers of values of 99 MB", 50, 4, 1, 99_000_000},
		}, 128, 1024
	}
	const filesAtHand = 3 // of the engine's first level, with one value in each
	bound := int64(memory+inHand+256) << 20
	for _, c := range attacks {
		t.Run(c.name, func(t *testing.T) {
			s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async", "--memory", fmt.Sprint(memory, "MiB"),
				"--max-bytes", fmt.Sprint(inHand, "MiB"), "--send-timeout", "3s", "--http", "127.0.0.1:0")
			fillTable(t, s, c.rows, c.cells, c.value)
			t.Logf("%d MiB at most while it is filled", peakMemory(t, s)>>20)
			forgetPeak(t, s)
			quiet := newNeighbour(t, s)
			for range 200 {
				quiet.read(t)
			}
			ended, others := make(chan struct{}), newNeighbour(t, s)
			var refused int
			go func() {
				defer close(ended)
				refused = stopReading(t, s, c.readers)
			}()
			for on := true; on; {
				others.read(t)
				select {
				case <-ended:
					on = false
				default:
				}
			}
			peak := peakMemory(t, s)
			t.Logf("%d MiB at most, %d of %d reads refused; another client's p99 %v, %v beside them (%d reads)",
				peak>>20, refused, c.readers, quiet.p99(), others.p99(), len(others.took))
			if most := raceMemory * (bound + filesAtHand*int64(c.value>>24<<24)); peak > most {
				t.Errorf("the process had %d MiB; want at most %d", peak>>20, most>>20)
			}
			if refused == c.readers {
				t.Error("no read had room")
			}
		})
	}
}

// A neighbour is a client that makes small reads beside others' large ones.
type neighbour struct {
	data bigtablepb.BigtableClient
	took []time.Duration
}

func newNeighbour(t *testing.T, s *served) *neighbour {
	return &neighbour{data: bigtablepb.NewBigtableClient(dialStopping(t, s))}
}

// read reads a row that does not exist.
func (n *neighbour) read(t *testing.T) {
	t.Helper()
	start := time.Now()
	stream, err := n.data.ReadRows(t.Context(), &bigtablepb.ReadRowsRequest{TableName: boundTable, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte("other")}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("another client's read: %v", err)
	}
	n.took = append(n.took, time.Since(start))
}

func (n *neighbour) p99() time.Duration {
	slices.Sort(n.took)
	return n.took[len(n.took)*99/100].Round(10 * time.Microsecond)
}

const boundTable = "projects/local/instances/local/tables/t"

// dialStopping is a connection whose client buffers only what it reads.
func dialStopping(t *testing.T, s *served) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<20), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// fillTable makes a table of rows whose cells have values of a given size.
func fillTable(t *testing.T, s *served, rows, cells, value int) {
	t.Helper()
	conn := dialStopping(t, s)
	if _, err := adminpb.NewBigtableTableAdminClient(conn).CreateTable(t.Context(), &adminpb.CreateTableRequest{Parent: "projects/local/instances/local", TableId: "t",
		Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}}}); err != nil {
		t.Fatal(err)
	}
	data := bigtablepb.NewBigtableClient(conn)
	write := func(entries []*bigtablepb.MutateRowsRequest_Entry) {
		stream, err := data.MutateRows(t.Context(), &bigtablepb.MutateRowsRequest{TableName: boundTable, Entries: entries})
		if err != nil {
			t.Fatal(err)
		}
		for {
			answer, err := stream.Recv()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range answer.GetEntries() {
				if e.GetStatus().GetCode() != 0 {
					t.Fatal(e)
				}
			}
		}
	}
	var entries []*bigtablepb.MutateRowsRequest_Entry
	for i := range rows * cells {
		content := make([]byte, value)
		_, _ = rand.Read(content)
		entries = append(entries, &bigtablepb.MutateRowsRequest_Entry{RowKey: fmt.Appendf(nil, "row%05d", i/cells), Mutations: []*bigtablepb.Mutation{{
			Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: fmt.Appendf(nil, "q%05d", i%cells), TimestampMicros: 1000, Value: content}},
		}}})
		if len(entries)*value >= 1<<20 || i == rows*cells-1 {
			write(entries)
			entries = nil
		}
	}
}

// stopReading begins reads of all rows and stops reading each one after its first
// answer. It returns when the server has ended them all, with the number it refused.
func stopReading(t *testing.T, s *served, readers int) int {
	t.Helper()
	const perConn = 100
	var refused atomic.Int64
	var answered sync.WaitGroup
	var conn *grpc.ClientConn
	for i := range readers {
		if i%perConn == 0 {
			conn = dialStopping(t, s)
		}
		stream, err := bigtablepb.NewBigtableClient(conn).ReadRows(t.Context(), &bigtablepb.ReadRowsRequest{TableName: boundTable})
		if err != nil {
			t.Fatal(err)
		}
		answered.Go(func() {
			if _, err := stream.Recv(); err != nil {
				if status.Code(err) != codes.Unavailable {
					t.Errorf("a read that there is no room for: %v", err)
				}
				refused.Add(1)
			}
		})
	}
	answered.Wait()
	for ended := 0.0; ended < float64(readers); time.Sleep(100 * time.Millisecond) {
		ended = callsEnded(t, s)
	}
	return int(refused.Load())
}

// callsEnded is the number of reads that have ended.
func callsEnded(t *testing.T, s *served) (n float64) {
	t.Helper()
	resp, err := http.Get(s.pages)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^smolwc_calls_total\{.*ReadRows.*\} (\d+)`).FindAllSubmatch(text, -1) {
		one, _ := strconv.Atoi(string(m[1]))
		n += float64(one)
	}
	return n
}

// forgetPeak resets peakMemory.
func forgetPeak(t *testing.T, s *served) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0o600); err != nil {
		t.Skip("the system does not tell: ", err)
	}
}

// peakMemory is the process's largest resident memory so far.
func peakMemory(t *testing.T, s *served) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Skip("the system does not tell: ", err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
