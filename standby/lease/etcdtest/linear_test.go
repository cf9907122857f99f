package etcdtest

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/anishathalye/porcupine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A call is what a client asks of a row, which holds one value, "" if it is not there.
type call struct {
	key      string
	kind     string // get, put, swap
	old, new string
}

// An answer is what the client has got.
type answer struct {
	value   string // get
	made    bool   // swap: the row held old
	unknown bool   // put and swap: it may have been done, or be done later
}

// registers: each call takes effect at one moment between its beginning and its end.
var registers = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(call).key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, ops := range byKey {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		now, in, out := state.(string), input.(call), output.(answer)
		next, told := now, answer{}
		switch {
		case in.kind == "get":
			told.value = now
		case in.kind == "put":
			next = in.new
		case in.old == now:
			next, told.made = in.new, true
		}
		switch {
		case out.unknown:
			return []any{now, next}
		case out == told:
			return []any{next}
		}
		return nil
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}).ToModel()

// A calling is clients that read and write a few rows, and all that they were told.
type calling struct {
	c       *cluster
	round   atomic.Int64 // the rows of a round are not those of another one, so that histories are short
	values  atomic.Int64
	began   time.Time
	end     context.CancelFunc
	running sync.WaitGroup
	leads   atomic.Pointer[node] // the server that was the last to answer

	mu  sync.Mutex
	ops []porcupine.Operation
}

const rowsOfARound = 4

// call begins to call.
func (c *cluster) call() *calling {
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	l := &calling{c: c, began: time.Now(), end: cancel}
	for client := range 6 {
		l.running.Go(func() {
			r, last := rand.New(rand.NewPCG(uint64(client), 3)), map[string]string{}
			for ctx.Err() == nil {
				in := call{key: fmt.Sprint("register/", l.round.Load(), "/", r.IntN(rowsOfARound)), kind: []string{"get", "get", "put", "swap"}[r.IntN(4)]}
				if in.kind != "get" {
					in.old, in.new = last[in.key], fmt.Sprint(l.values.Add(1))
				}
				if out, ok := l.ask(ctx, client, l.server(r), in); ok && in.kind == "get" {
					last[in.key] = out.value
				}
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond): // histories are short enough to check
				}
			}
		})
	}
	return l
}

// server is the one that answered last, or another one.
func (l *calling) server(r *rand.Rand) *node {
	if s := l.leads.Load(); s != nil && r.IntN(20) > 0 {
		return s
	}
	return l.c.nodes[r.IntN(len(l.c.nodes))]
}

// ask notes a call and its answer, unless it had no effect.
func (l *calling) ask(ctx context.Context, client int, s *node, in call) (answer, bool) {
	op := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(l.began))}
	out, err := s.do(ctx, in)
	switch op.Return = int64(time.Since(l.began)); {
	case err == nil:
		l.leads.Store(s)
	case in.kind == "get" || nothingDone(err):
		l.leads.CompareAndSwap(s, nil)
		return out, false
	default:
		out, op.Return = answer{unknown: true}, math.MaxInt64
	}
	op.Output = out
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, op)
	return out, err == nil
}

// nothingDone reports whether an error says that nothing was written.
func nothingDone(err error) bool {
	text := err.Error()
	return status.Code(err) == codes.FailedPrecondition || strings.Contains(text, "nothing was written") || strings.Contains(text, "connection refused")
}

// errFollows is for the answer of a server that does not lead: it may be old.
var errFollows = status.Error(codes.FailedPrecondition, "the server does not lead")

// do asks a server.
func (s *node) do(ctx context.Context, in call) (out answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	const table = "projects/local/instances/local/tables/a"
	set := []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
		FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: -1, Value: []byte(in.new)}}}}
	newest := &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: 1}}
	switch in.kind {
	case "get":
		out.value, err = s.get(ctx, &bigtablepb.ReadRowsRequest{TableName: table, Filter: newest, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte(in.key)}}})
	case "put":
		_, err = s.client.MutateRow(ctx, &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte(in.key), Mutations: set})
	default:
		req := &bigtablepb.CheckAndMutateRowRequest{TableName: table, RowKey: []byte(in.key), TrueMutations: set, PredicateFilter: &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{
			Filters: []*bigtablepb.RowFilter{newest, {Filter: &bigtablepb.RowFilter_ValueRegexFilter{ValueRegexFilter: []byte(in.old)}}}}}}}
		if in.old == "" { // the row is not there
			req.PredicateFilter, req.TrueMutations, req.FalseMutations = nil, nil, set
		}
		var resp *bigtablepb.CheckAndMutateRowResponse
		resp, err = s.client.CheckAndMutateRow(ctx, req)
		out.made = resp.GetPredicateMatched() == (in.old != "")
	}
	return out, err
}

// get reads the value of a row at a server that leads.
func (s *node) get(ctx context.Context, req *bigtablepb.ReadRowsRequest) (value string, err error) {
	var header metadata.MD
	stream, err := s.client.ReadRows(ctx, req, grpc.Header(&header))
	if err != nil {
		return "", err
	}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		for _, chunk := range m.GetChunks() {
			value += string(chunk.GetValue())
		}
	}
	if len(header.Get("smolwc-leader")) > 0 {
		return "", errFollows
	}
	return value, nil
}

// check stops the clients, reads each row once more, and looks for an order of all calls that
// explains every answer.
func (l *calling) check(t *testing.T) {
	t.Helper()
	l.end()
	l.running.Wait()
	gets, unknown := 0, 0
	for round := range l.round.Load() + 1 {
		for i := range rowsOfARound {
			in := call{key: fmt.Sprint("register/", round, "/", i), kind: "get"}
			eventually(t, "a server that leads reads a row", func() bool {
				_, ok := l.ask(t.Context(), 0, l.c.leader(), in)
				return ok
			})
		}
	}
	for _, op := range l.ops {
		if op.Input.(call).kind == "get" {
			gets++
		}
		if op.Output.(answer).unknown {
			unknown++
		}
	}
	t.Logf("%d calls, %d of them reads, %d writes of an unknown outcome", len(l.ops), gets, unknown)
	if result, info := porcupine.CheckOperationsVerbose(registers, l.ops, time.Minute); result != porcupine.Ok {
		path := filepath.Join(os.TempDir(), "smolwc-history.html")
		t.Errorf("no order explains the answers, which are in %s: %v, %v", path, result, porcupine.VisualizePath(registers, info, path))
	}
}
