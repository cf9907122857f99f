package exec

import (
	"context"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/query/write"
)

// A pending is an open batch: begun, and neither committed nor aborted.
type pending struct {
	begun      lex.Pos
	batch      *write.Batch
	statements int
	spoilt     error // the error of a failed statement that may have been part of the batch
}

// InBatch reports whether a batch is open.
func (r *Runner) InBatch() bool { return r != nil && r.pending != nil }

// Batches returns the number of batches begun so far.
func (r *Runner) Batches() int {
	if r == nil {
		return 0
	}
	return r.batches
}

// SpoilBatch records that a statement failed that may have been meant for the batch.
// Commit then refuses to write the batch.
func (r *Runner) SpoilBatch(err error) {
	if r.InBatch() && r.pending.spoilt == nil {
		r.pending.spoilt = err
	}
}

// DropBatch ends the batch without writing it. The error says so, at the place where the
// batch was begun; it is nil if there was no batch.
func (r *Runner) DropBatch() error {
	if !r.InBatch() {
		return nil
	}
	p := r.pending
	r.pending = nil
	return lex.ErrorAt(p.begun, "this batch has no commit; nothing of it was written")
}

func (r *Runner) begin(_ context.Context, st *ql.Begin) (Result, error) {
	if r.pending != nil {
		return nil, lex.ErrorAt(st.Pos, "a batch is open already, begun at %s; batches do not nest", r.pending.begun)
	}
	r.pending = &pending{begun: st.Pos, batch: write.NewBatch()}
	r.batches++
	return &Done{"began a batch"}, nil
}

func (r *Runner) commit(ctx context.Context, st *ql.Commit) (Result, error) {
	p := r.pending
	if p == nil {
		return nil, lex.ErrorAt(st.Pos, "there is no batch to commit; begin starts one")
	}
	r.pending = nil
	if p.spoilt != nil {
		return nil, lex.ErrorAt(st.Pos, "nothing of the batch was written, because a statement in it failed: %s", lex.Escape(p.spoilt.Error()))
	}
	if p.statements > 0 { // an empty batch is not an error
		if err := r.DB.Apply(ctx, p.batch); err != nil {
			return nil, err
		}
	}
	return &Done{"committed " + plural(p.statements, "statement")}, nil
}

func (r *Runner) abort(_ context.Context, st *ql.Abort) (Result, error) {
	if r.pending == nil {
		return nil, lex.ErrorAt(st.Pos, "there is no batch to abort; begin starts one")
	}
	n := r.pending.statements
	r.pending = nil
	return &Done{"dropped " + plural(n, "statement")}, nil
}

// apply writes a mutation, or adds it to the batch if one is open.
func (r *Runner) apply(ctx context.Context, table, key string, m *write.Mutation, did string) (Result, error) {
	if p := r.pending; p != nil {
		p.batch.Add(table, key, m)
		p.statements++
		return &Done{"in the batch: " + did}, nil
	}
	if err := r.Database().Table(table).Apply(ctx, key, m); err != nil {
		return nil, err
	}
	return &Done{did}, nil
}
