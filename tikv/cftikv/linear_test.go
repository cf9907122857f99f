package cftikv_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

var linearOps = flag.Int("linear-ops", 20, "the operations of each worker of TestLinearizable")

// registers are the values of a few rows, "" for a row that is not there.
type registers [3]string

// A step is an operation on rows as one of its workers saw it.
type step struct {
	kind string
	row  int
	put  string
}

var registerModel = porcupine.Model{
	Init: func() any { return registers{} },
	Step: func(state, input, output any) (bool, any) {
		rows, in, seen := state.(registers), input.(step), output.(registers)
		ok := true
		switch in.kind {
		case "update":
			ok = seen[in.row] == rows[in.row]
		case "read", "transaction":
			ok = seen == rows
		}
		if in.kind != "read" {
			rows[in.row] = in.put
		}
		return ok, rows
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %q", input, output) },
}

func rowName(i int) string { return fmt.Sprint("row", i) }

func asRegisters(found map[string]string) (r registers) {
	for i := range r {
		r[i] = found[rowName(i)]
	}
	return r
}

// do performs a step. It returns what it has read; ok is false if it conflicted.
func (in step) do(t *testing.T, s *cftikv.Store) (seen registers, ok bool) {
	row := rowName(in.row)
	var err error
	switch in.kind {
	case "read":
		seen = asRegisters(values(t, s, nil, "f"))
	case "update":
		_, err = s.Update(t.Context(), []cf.RowID{id(row)}, func(snap cf.Snapshot, b *cf.Batch) error {
			seen = asRegisters(values(t, s, snap, "f", cf.Single(row)))
			put(b, "f", row, in.put)
			return nil
		})
	case "write":
		_, err = s.Write(t.Context(), nil, func(b *cf.Batch) error { put(b, "f", row, in.put); return nil })
	case "drop":
		err = s.DropRange(t.Context(), []string{"f"}, cf.Single(row))
	case "transaction":
		seen, err = in.transact(t, s, row)
	}
	if err != nil && !errors.Is(err, cf.ErrConflict) {
		t.Error(err)
	}
	return seen, err == nil
}

// transact reads all rows and writes one.
func (in step) transact(t *testing.T, s *cftikv.Store, row string) (seen registers, err error) {
	tx, err := s.Begin(t.Context())
	if err != nil {
		return seen, err
	}
	tx.Read("t", cf.Range{})
	seen = asRegisters(values(t, s, tx, "f"))
	var b cf.Batch
	put(&b, "f", row, in.put)
	if err := tx.Add(&b); err != nil {
		return seen, err
	}
	_, err = tx.Commit(t.Context(), nil)
	return seen, err
}

// Several processes update, write, drop and read the same rows. There is an order of
// their operations that explains all they have read, and in which none of them comes
// before another that had ended when it began.
func TestLinearizable(t *testing.T) { linearize(t, processes(t, 3, "f")) }

func linearize(t *testing.T, stores []*cftikv.Store) {
	const workers = 2 // of each process
	var clock atomic.Int64
	var mu sync.Mutex
	var history []porcupine.Operation
	var working sync.WaitGroup
	for w := range workers * len(stores) {
		working.Go(func() {
			for i := range *linearOps {
				in := step{row: rand.N(len(registers{})), put: fmt.Sprintf("%d-%d", w, i)}
				in.kind = []string{"read", "update", "update", "write", "transaction", "drop"}[rand.N(6)]
				if in.kind == "drop" {
					in.put = ""
				}
				op := porcupine.Operation{ClientId: w, Input: in, Call: clock.Add(1)}
				seen, ok := in.do(t, stores[w%len(stores)])
				op.Output, op.Return = seen, clock.Add(1)
				if ok {
					mu.Lock()
					history = append(history, op)
					mu.Unlock()
				}
			}
		})
	}
	working.Wait()
	if !porcupine.CheckOperations(registerModel, history) {
		for _, op := range history {
			t.Logf("%d-%d %s", op.Call, op.Return, registerModel.DescribeOperation(op.Input, op.Output))
		}
		t.Errorf("no order explains the %d operations", len(history))
	}
}
