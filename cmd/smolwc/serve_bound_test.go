package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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
	// Each read under way has a block and a message besides.
	if grown := peakMemory(t, s) - before; grown > 600<<20 {
		t.Errorf("the process grew by %d MiB", grown>>20)
	} else {
		t.Logf("from %d MiB by %d MiB", before>>20, grown>>20)
	}
}

// peakMemory is the most resident memory that the process has had.
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
