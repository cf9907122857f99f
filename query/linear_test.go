//go:build cgo

package query_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A number is a row as a register: it holds a number or nothing.
type number struct {
	n  int64
	ok bool // there is a row
}

// What clients do to one of two rows of a pair, or to both.
type pairInput struct {
	pair int
	row  int    // 0 or 1
	kind string // one of pairKinds
	n    int64
	old  int64 // swap, move: the number expected
}

var pairKinds = []string{"put", "get", "get", "both", "delete", "increment", "swap", "move", "exchange"}

// What they were told.
type pairOutput struct {
	numbers [2]number // get and increment: the first of them; both: both
	made    bool      // swap, move
	pending bool      // nothing: the process was killed before it could tell
}

// pairs is two rows: each operation takes effect at one moment between its call
// and its return. One that was pending at a kill took effect before the kill or
// never does.
var pairs = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byPair := map[int][]porcupine.Operation{}
		for _, op := range history {
			pair := op.Input.(pairInput).pair
			byPair[pair] = append(byPair[pair], op)
		}
		var parts [][]porcupine.Operation
		for _, ops := range byPair {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() []any { return []any{[2]number{}} },
	Step: func(state, input, output any) []any {
		now, out := state.([2]number), output.(pairOutput)
		next, told := input.(pairInput).step(now)
		switch {
		case out.pending:
			return []any{now, next}
		case out == told:
			return []any{next}
		}
		return nil
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}).ToModel()

// step is what an operation makes of a pair, and what it tells.
func (in pairInput) step(now [2]number) (next [2]number, told pairOutput) {
	next = now
	it := &next[in.row]
	switch in.kind {
	case "put":
		*it = number{in.n, true}
	case "delete":
		*it = number{}
	case "get":
		told.numbers[0] = *it
	case "both":
		told.numbers = now
	case "increment":
		*it = number{it.n + in.n, true}
		told.numbers[0] = *it
	case "exchange":
		next[0], next[1] = now[1], now[0]
	default:
		if told.made = it.ok && it.n == in.old; told.made {
			it.n = in.n
		}
	}
	return next, told
}

func drawPair(rng *rand.Rand, pairs int) pairInput {
	return pairInput{
		pair: rng.IntN(pairs), row: rng.IntN(2), kind: pairKinds[rng.IntN(len(pairKinds))],
		n: rng.Int64N(5), old: rng.Int64N(5),
	}
}

func pairSchemaOfNumbers() *schema.Schema {
	return declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)})
}

func (in pairInput) key(row int) string { return fmt.Sprintf("%d#%d", in.pair, row) }

// do does it. A transaction to which others came between each time it was tried
// is tried again: it has had no effect.
func (in pairInput) do(db *query.DB) (out pairOutput, err error) {
	for {
		if out, err = in.try(db); query.KindOf(err) != query.KindConflict {
			return out, err
		}
	}
}

func (in pairInput) try(db *query.DB) (out pairOutput, err error) {
	table, key := db.Table("t"), in.key(in.row)
	value := set("f", "n", cells.I64(in.n))
	switch in.kind {
	case "put":
		return out, table.Apply(ctx, key, mutate(value))
	case "delete":
		return out, table.Apply(ctx, key, mutate((*write.Mutation).DeleteRow))
	case "get":
		row, err := table.ReadRow(ctx, key)
		out.numbers[0], err = numberOf(row, err)
		return out, err
	case "both":
		for row, err := range table.ReadRows(ctx, read.Prefix(fmt.Sprintf("%d#", in.pair))) {
			if err != nil {
				return out, err
			}
			at := 0
			if row.Key() == in.key(1) {
				at = 1
			}
			out.numbers[at], _ = numberOf(row, nil)
		}
		return out, nil
	case "increment":
		n, err := table.Increment(ctx, key, "f", "n", in.n)
		out.numbers[0] = number{n, true}
		return out, err
	case "swap":
		out.made, err = table.CheckAndMutate(ctx, key, read.Where("f", "n", cells.OpEqual, cells.I64(in.old)), mutate(value), nil)
		return out, err
	case "exchange":
		return out, db.Update(ctx, in.exchange)
	}
	err = db.Update(ctx, func(tx *query.Tx) error { // move: a swap as a transaction
		now, err := numberOf(tx.ReadRow(ctx, "t", key))
		if out.made = now.ok && now.n == in.old; err != nil || !out.made {
			return err
		}
		return tx.Apply(ctx, "t", key, mutate(value))
	})
	return out, err
}

// exchange gives each row of a pair what the other has.
func (in pairInput) exchange(tx *query.Tx) error {
	var now [2]number
	for i := range now {
		var err error
		if now[i], err = numberOf(tx.ReadRow(ctx, "t", in.key(i))); err != nil {
			return err
		}
	}
	for i, n := range now {
		m := mutate((*write.Mutation).DeleteRow)
		if n.ok {
			m = mutate(set("f", "n", cells.I64(n.n)))
		}
		if err := tx.Apply(ctx, "t", in.key(1-i), m); err != nil {
			return err
		}
	}
	return nil
}

func numberOf(row *query.Row, err error) (number, error) {
	if err != nil {
		return number{}, err
	}
	n, ok := row.I64("f", "n")
	return number{n, ok}, nil
}

// expectLinear looks for an order of all operations that explains every answer.
func expectLinear(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	if result := porcupine.CheckOperationsTimeout(pairs, history, time.Minute); result != porcupine.Ok {
		t.Errorf("no order explains the history: %v", result)
	}
}

// TestOperationsAreLinearizable lets clients write, delete, read, count, swap and
// transact on a few rows, and pairs of rows, at once.
func TestOperationsAreLinearizable(t *testing.T) {
	db := openMemory(t, pairSchemaOfNumbers())
	const clients, each = 6, 80
	start := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 7))
			for range each {
				in := drawPair(rng, 2)
				call := time.Since(start)
				out, err := in.do(db)
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
	var all []porcupine.Operation
	for _, h := range histories {
		all = append(all, h...)
	}
	expectLinear(t, all)
}

// A history that no order explains is not taken for linear.
func TestHistoriesThatAreNotLinear(t *testing.T) {
	op := func(call, back int64, in pairInput, out pairOutput) porcupine.Operation {
		return porcupine.Operation{Input: in, Output: out, Call: call, Return: back}
	}
	put := func(row int, n int64) pairInput { return pairInput{kind: "put", row: row, n: n} }
	get := func(row int) pairInput { return pairInput{kind: "get", row: row} }
	told := func(ns ...int64) (out pairOutput) {
		for i, n := range ns {
			out.numbers[i] = number{n, true}
		}
		return out
	}
	pending := pairOutput{pending: true}
	for _, test := range []struct {
		name    string
		history []porcupine.Operation
		linear  bool
	}{
		{"a pending write that happened", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), told(1))}, true},
		{"a pending write that did not", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), pairOutput{})}, true},
		{"a pending write that happens after the kill", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), pairOutput{}), op(12, 13, get(0), told(1))}, false},
		{"a pending write that was seen and is gone", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), told(1)), op(12, 13, get(0), pairOutput{})}, false},
		{"a write that was acknowledged and is gone", []porcupine.Operation{op(1, 2, put(0, 1), pairOutput{}), op(10, 11, get(0), pairOutput{})}, false},
		{"half of an exchange", []porcupine.Operation{op(1, 2, put(0, 1), pairOutput{}), op(3, 4, put(1, 2), pairOutput{}),
			op(5, 9, pairInput{kind: "exchange"}, pending), op(10, 11, pairInput{kind: "both"}, told(2, 2))}, false},
	} {
		if got := porcupine.CheckOperations(pairs, test.history); got != test.linear {
			t.Errorf("%s: linear %v", test.name, got)
		}
	}
}
