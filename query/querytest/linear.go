package querytest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Number is a row as a register: it holds a number or nothing.
type Number struct {
	N  int64
	OK bool // there is a row
}

// A Call is an operation of a client on one or both rows of a pair.
type Call struct {
	Pair int
	Row  int    // 0 or 1
	Kind string // one of callKinds
	N    int64
	Old  int64 // swap, move: the number expected
}

var callKinds = []string{"put", "get", "get", "both", "delete", "increment", "swap", "move", "exchange"}

// An Answer is the result of a Call.
type Answer struct {
	Numbers [2]Number // get and increment: the first of them; both: both
	Made    bool      // swap, move
	Pending bool      // no result: the process was killed before
}

// pairs is two rows: each operation takes effect at one moment between its call
// and its return. One that was pending at a kill took effect before the kill or
// never does.
var pairs = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byPair := map[int][]porcupine.Operation{}
		for _, op := range history {
			pair := op.Input.(Call).Pair
			byPair[pair] = append(byPair[pair], op)
		}
		var parts [][]porcupine.Operation
		for _, ops := range byPair {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() []any { return []any{[2]Number{}} },
	Step: func(state, input, output any) []any {
		now, out := state.([2]Number), output.(Answer)
		next, told := input.(Call).step(now)
		switch {
		case out.Pending:
			return []any{now, next}
		case out == told:
			return []any{next}
		}
		return nil
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}).ToModel()

// step returns the pair after an operation, and the operation's result.
func (in Call) step(now [2]Number) (next [2]Number, told Answer) {
	next = now
	it := &next[in.Row]
	switch in.Kind {
	case "put":
		*it = Number{in.N, true}
	case "delete":
		*it = Number{}
	case "get":
		told.Numbers[0] = *it
	case "both":
		told.Numbers = now
	case "increment":
		*it = Number{it.N + in.N, true}
		told.Numbers[0] = *it
	case "exchange":
		next[0], next[1] = now[1], now[0]
	default:
		if told.Made = it.OK && it.N == in.Old; told.Made {
			it.N = in.N
		}
	}
	return next, told
}

// DrawCall draws a call on one of a number of pairs.
func DrawCall(rng *rand.Rand, pairs int) Call {
	return Call{
		Pair: rng.IntN(pairs), Row: rng.IntN(2), Kind: callKinds[rng.IntN(len(callKinds))],
		N: rng.Int64N(5), Old: rng.Int64N(5),
	}
}

// LinearSchema is the schema of a database for calls.
func LinearSchema() *schema.Schema {
	f := schema.Family{Name: "f", GC: schema.MaxVersions(1)}
	return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{f}}}}
}

func (in Call) key(row int) string { return fmt.Sprintf("%d#%d", in.Pair, row) }

// Do carries out the call. A transaction that conflicted at every attempt is tried
// again, since it had no effect.
func (in Call) Do(ctx context.Context, db *query.DB) (out Answer, err error) {
	for {
		if out, err = in.try(ctx, db); query.KindOf(err) != query.KindConflict {
			return out, err
		}
	}
}

func (in Call) try(ctx context.Context, db *query.DB) (out Answer, err error) {
	table, key := db.Table("t"), in.key(in.Row)
	value := setN("f", "n", in.N)
	switch in.Kind {
	case "put":
		return out, table.Apply(ctx, key, value)
	case "delete":
		return out, table.Apply(ctx, key, deleteRow())
	case "get":
		row, err := table.ReadRow(ctx, key)
		out.Numbers[0], err = numberOf(row, err)
		return out, err
	case "both":
		for row, err := range table.ReadRows(ctx, read.Prefix(fmt.Sprintf("%d#", in.Pair))) {
			if err != nil {
				return out, err
			}
			at := 0
			if row.Key() == in.key(1) {
				at = 1
			}
			out.Numbers[at], _ = numberOf(row, nil)
		}
		return out, nil
	case "increment":
		n, err := table.Increment(ctx, key, "f", "n", in.N)
		out.Numbers[0] = Number{n, true}
		return out, err
	case "swap":
		out.Made, err = table.CheckAndMutate(ctx, key, read.Where("f", "n", cells.OpEqual, cells.I64(in.Old)), value, nil)
		return out, err
	case "exchange":
		return out, db.Update(ctx, func(tx *query.Tx) error { return in.exchange(ctx, tx) })
	}
	err = db.Update(ctx, func(tx *query.Tx) error { // move: a swap as a transaction
		now, err := numberOf(tx.ReadRow(ctx, "t", key))
		if out.Made = now.OK && now.N == in.Old; err != nil || !out.Made {
			return err
		}
		return tx.Apply(ctx, "t", key, value)
	})
	return out, err
}

// exchange swaps the values of a pair's rows.
func (in Call) exchange(ctx context.Context, tx *query.Tx) error {
	var now [2]Number
	for i := range now {
		var err error
		if now[i], err = numberOf(tx.ReadRow(ctx, "t", in.key(i))); err != nil {
			return err
		}
	}
	for i, n := range now {
		m := deleteRow()
		if n.OK {
			m = setN("f", "n", n.N)
		}
		if err := tx.Apply(ctx, "t", in.key(1-i), m); err != nil {
			return err
		}
	}
	return nil
}

func numberOf(row *query.Row, err error) (Number, error) {
	if err != nil {
		return Number{}, err
	}
	n, ok := row.I64("f", "n")
	return Number{n, ok}, nil
}

// CheckLinear looks for an order of all operations that explains every answer. Inputs are
// Calls and outputs are Answers.
func CheckLinear(t testing.TB, history []porcupine.Operation) {
	t.Helper()
	if result := porcupine.CheckOperationsTimeout(pairs, history, time.Minute); result != porcupine.Ok {
		t.Errorf("no order explains the history: %v", result)
	}
}

// Linearizability lets clients write, delete, read, count, swap and transact on a few
// rows, and pairs of rows, at once. Client n uses the database n modulo their number: they
// are databases of several processes, for instance, with one store.
func Linearizability(t *testing.T, dbs ...*query.DB) {
	const clients, each = 6, 80
	start := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 7))
			for range each {
				in := DrawCall(rng, 2)
				call := time.Since(start)
				out, err := in.Do(t.Context(), dbs[c%len(dbs)])
				if err != nil {
					t.Error(err)
					return
				}
				histories[c] = append(histories[c], porcupine.Operation{
					ClientId: c, Input: in, Output: out, Call: int64(call), Return: int64(time.Since(start))})
			}
		})
	}
	wg.Wait()
	CheckLinear(t, slices.Concat(histories...))
}
