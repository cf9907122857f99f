package query_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// What clients did to one row, and what they were told.
type rowInput struct {
	row  string
	kind string // put, get, delete, increment, swap, move
	n    int64
	old  int64 // swap: the value expected
}

type rowOutput struct {
	n  int64
	ok bool // get: there was a row; swap: it was made
}

// registers is a row as a register that holds a number or nothing: each
// operation takes effect at one moment between its call and its return.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byRow := map[string][]porcupine.Operation{}
		for _, op := range history {
			row := op.Input.(rowInput).row
			byRow[row] = append(byRow[row], op)
		}
		var parts [][]porcupine.Operation
		for _, ops := range byRow {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() any { return rowOutput{} },
	Step: func(state, input, output any) (bool, any) {
		now, in, out := state.(rowOutput), input.(rowInput), output.(rowOutput)
		switch in.kind {
		case "put":
			return true, rowOutput{in.n, true}
		case "delete":
			return true, rowOutput{}
		case "get":
			return out == now, now
		case "increment":
			next := rowOutput{now.n + in.n, true}
			return out == next, next
		}
		made := now.ok && now.n == in.old
		if made {
			now.n = in.n
		}
		return out.ok == made, now
	},
}

// TestSingleRowOperationsAreLinearizable lets clients write, delete, read,
// count, swap and transact on a few rows at once, and looks for an order of all
// operations that explains every answer.
func TestSingleRowOperationsAreLinearizable(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)}))
	const clients, each, rows = 6, 80, 3
	start := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 7))
			for range each {
				in := rowInput{
					row:  fmt.Sprint(rng.IntN(rows)),
					kind: []string{"put", "get", "get", "delete", "increment", "swap", "move"}[rng.IntN(7)],
					n:    rng.Int64N(5), old: rng.Int64N(5),
				}
				call := time.Since(start)
				out, err := do(db, in)
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
	if result := porcupine.CheckOperationsTimeout(registers, all, 20*time.Second); result != porcupine.Ok {
		t.Errorf("no order explains the history: %v", result)
	}
}

func do(db *query.DB, in rowInput) (rowOutput, error) {
	table := db.Table("t")
	value := set("f", "n", cells.I64(in.n))
	switch in.kind {
	case "put":
		return rowOutput{}, table.Apply(ctx, in.row, mutate(value))
	case "delete":
		return rowOutput{}, table.Apply(ctx, in.row, mutate((*query.Mutation).DeleteRow))
	case "get":
		row, err := table.ReadRow(ctx, in.row)
		return read(row, err)
	case "increment":
		n, err := table.Increment(ctx, in.row, "f", "n", in.n)
		return rowOutput{n, true}, err
	case "swap":
		made, err := table.CheckAndMutate(ctx, in.row, query.Where("f", "n", query.EQ, cells.I64(in.old)), mutate(value), nil)
		return rowOutput{ok: made}, err
	}
	var made bool // move: a swap as a transaction
	err := db.Update(ctx, func(tx *query.Tx) error {
		row, err := tx.ReadRow(ctx, "t", in.row)
		now, err := read(row, err)
		if made = now.ok && now.n == in.old; err != nil || !made {
			return err
		}
		return tx.Apply(ctx, "t", in.row, mutate(value))
	})
	return rowOutput{ok: made}, err
}

func read(row *query.Row, err error) (rowOutput, error) {
	if errors.Is(err, query.ErrNotFound) {
		return rowOutput{}, nil
	}
	if err != nil {
		return rowOutput{}, err
	}
	n, ok := row.I64("f", "n")
	return rowOutput{n, ok}, nil
}
