package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/edit"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// Update runs fn in a transaction and commits its writes: all of them, over any rows
// and tables, or nothing. Transactions are serialisable: the outcome is as if they, and
// all other writes, had been made one after another. They are optimistic: nothing is
// locked while fn runs. If another commit changed anything that fn read, including rows
// that scans found absent, the transaction is rolled back and fn runs again, on the
// newest state. So fn may run several times: it must have no other effects. After
// [MaxTxAttempts] the error's kind is [KindConflict].
//
// An error of fn rolls back and is returned unchanged. A transaction without writes saw
// one snapshot: it runs again only if the schema of a table that it read changed.
// Changes of the schema of other tables are no conflict.
func (db *DB) Update(ctx context.Context, fn func(tx *Tx) error) error {
	const op = "update"
	if err := cmp.Or(db.ready(ctx), fault.Given("fn", fn != nil)); err != nil {
		return fail(op, "", "", err)
	}
	for attempt := 1; ; attempt++ {
		err := db.attempt(ctx, fn)
		switch {
		case !errors.Is(err, cf.ErrConflict):
			return err
		case attempt == MaxTxAttempts:
			return fail(op, "", "", fmt.Errorf("gave up after %d attempts: %w", attempt, err))
		}
		if err := backOff(ctx, attempt); err != nil {
			return fail(op, "", "", err)
		}
	}
}

// MaxTxAttempts is how often Update runs its function at most.
const MaxTxAttempts = 16

// backOff waits for a random time that grows with the attempts, up to some 60 ms.
func backOff(ctx context.Context, attempt int) error {
	const unit = 100 * time.Microsecond
	most := unit << min(attempt, 9)
	select {
	case <-time.After(rand.N(most) + unit):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (db *DB) attempt(ctx context.Context, fn func(tx *Tx) error) error {
	const op = "update"
	var done []func() // called when no lock is held
	defer func() {
		for _, fn := range done {
			fn()
		}
	}()
	txn, c, err := db.begin(ctx)
	if err != nil {
		return fail(op, "", "", err)
	}
	defer txn.Close()
	tx := &Tx{db: db, txn: txn, catalog: c, tables: map[string]bool{}}
	defer func() { tx.db = nil }() // it cannot be used afterwards
	if err := fn(tx); err != nil {
		return err
	}
	if tx.err != nil {
		return tx.err
	}
	db.state.Flow.Begin()
	defer db.state.Flow.End(ctx)
	if _, err := db.state.Hold(ctx); err != nil {
		return fail(op, "", "", err)
	}
	defer db.state.SchemaLock.RUnlock()
	if tx.wrote && !tx.schemaHolds() {
		return cf.ErrConflict
	}
	if err := tx.flush(ctx); err != nil {
		return fail(op, "", "", err)
	}
	err = tx.commit(ctx)
	if errors.Is(err, cf.ErrCatalogChanged) {
		return cf.ErrConflict // the next attempt begins under the new schema
	}
	if errors.Is(err, cf.ErrConflict) {
		return err
	}
	if err == nil {
		done = tx.onCommit
	}
	return fail(op, "", "", err)
}

// begin begins a transaction of the store, with the schema in force.
func (db *DB) begin(ctx context.Context) (cf.Txn, *catalog.Catalog, error) {
	for {
		c := db.state.Catalog.Load() // before the snapshot: a rule that is relaxed later hides nothing in it
		txn, err := db.state.Store.Begin(ctx)
		if err != nil {
			return nil, nil, err
		}
		current, err := db.state.IsCurrent(ctx, c, txn)
		if err == nil && current {
			return txn, c, nil
		}
		txn.Close()
		if err != nil {
			return nil, nil, err
		}
	}
}

// commit commits the transaction, with a note if a table with a change stream was
// written.
func (tx *Tx) commit(ctx context.Context) error {
	if err := tx.db.state.RaiseFor(ctx, tx.newest); err != nil {
		return err
	}
	defer func() {
		for _, w := range tx.marked {
			tx.db.state.Marked.Add(w.Table, w.Key)
		}
	}()
	if !tx.logged {
		_, err := tx.txn.Commit(ctx, nil)
		return err
	}
	return tx.db.state.Changes.Commit(ctx, &tx.db.state.Clock, func(note func(*cf.Batch) error) (cf.Position, error) {
		return tx.txn.Commit(ctx, note)
	})
}

// A Tx is a transaction, inside the function given to [DB.Update]. It belongs to
// that function's goroutine and cannot be used afterwards.
type Tx struct {
	db      *DB
	txn     cf.Txn
	catalog *catalog.Catalog // as of the beginning
	tables  map[string]bool  // read or written
	wrote   bool
	newest  cells.Timestamp // the newest that a change names
	logged  bool            // a table with a change stream was written
	scans   int             // under way
	pending []edit.RowWrite // changes that scans must not see
	marked  []edit.RowWrite // changes of tables with marks
	err     error           // of an earlier call: the transaction cannot commit

	onCommit []func()
}

// ReadRow is [Table.ReadRow] in the transaction: it sees the snapshot and the
// transaction's own writes. It is an error to read, inside the loop of a scan, a
// row that was written in the loop.
func (tx *Tx) ReadRow(ctx context.Context, table, key string, opts ...read.Option) (*Row, error) {
	for row, err := range tx.ReadRows(ctx, table, append(slices.Clip(opts), read.Key(key))...) {
		return row, err
	}
	return nil, nil
}

// ReadRows is [Table.ReadRows] in the transaction. It does not see writes made in
// its loop.
func (tx *Tx) ReadRows(ctx context.Context, table string, opts ...read.Option) iter.Seq2[*Row, error] {
	return tx.rows(ctx, table, opts, (*Tx).depend)
}

// PeekRows is [Tx.ReadRows] without a dependency: the transaction commits although
// others have changed the rows since it began. Use it where a value that is out of date
// does no harm, such as a hint where to look; use ReadRows for everything that must
// still hold when the transaction commits.
func (tx *Tx) PeekRows(ctx context.Context, table string, opts ...read.Option) iter.Seq2[*Row, error] {
	return tx.rows(ctx, table, opts, func(*Tx, string, *plan.Spec, string, bool) {})
}

// A noter notes the rows that a read looked at, as [Tx.depend] does.
type noter func(tx *Tx, table string, spec *plan.Spec, last string, early bool)

func (tx *Tx) rows(ctx context.Context, table string, opts []read.Option, note noter) iter.Seq2[*Row, error] {
	const op = "read rows"
	return func(yield func(*Row, error) bool) {
		if err := tx.read(ctx, table, opts, note, yield); err != nil {
			yield(nil, tx.fail(op, table, "", err))
		}
	}
}

// read runs one read, and notes all that it looked at, up to the last row that the
// caller took.
func (tx *Tx) read(ctx context.Context, table string, opts []read.Option, note noter, yield func(*Row, error) bool) error {
	if err := tx.ready(ctx); err != nil {
		return err
	}
	spec, err := plan.NewSpec(opts)
	if err != nil {
		return err
	}
	tx.tables[table] = true
	if err := tx.settle(ctx, table, spec); err != nil {
		return err
	}
	info, err := tx.db.state.Catalog.Load().Table(table)
	if err != nil {
		return err
	}
	src := tx.db.Table(table).sourceOf(info)
	r, err := src.Open(ctx, tx.txn, spec)
	if err != nil {
		return err
	}
	defer r.Close()
	if !tx.schemaHolds() {
		return cf.ErrConflict
	}
	tx.scans++
	defer func() { tx.scans-- }()
	last := ""
	for {
		row, err := r.Next(ctx)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		last = row.Key()
		if !yield((*Row)(row), nil) {
			note(tx, table, spec, last, true)
			return nil
		}
		if tx.db == nil { // the transaction ended in the loop
			return errNoTx
		}
	}
	note(tx, table, spec, last, spec.Limit > 0 && r.Returned() == int64(spec.Limit))
	return nil
}

// schemaHolds reports whether the tables of the transaction are unchanged since it
// began. Its reads and writes may be wrong under another schema.
func (tx *Tx) schemaHolds() bool {
	now := tx.db.state.Catalog.Load()
	for table := range tx.tables {
		if now.Tables[table] != tx.catalog.Tables[table] {
			return false
		}
	}
	return true
}

// depend notes the rows that a read looked at: all that it asked for, or those up
// to the last row returned.
func (tx *Tx) depend(table string, spec *plan.Spec, last string, early bool) {
	rows := slices.Clone(spec.Ranges)
	switch {
	case early && spec.Reverse:
		rows = cf.ClipRanges(rows, cf.Range{Start: last})
	case early:
		rows = cf.ClipRanges(rows, cf.Range{End: last + "\x00"})
	}
	for _, r := range rows {
		tx.txn.Read(table, r)
	}
}

// settle makes the writes so far visible to a read. During a scan they have to
// wait, and a read of a row that they change is refused.
func (tx *Tx) settle(ctx context.Context, table string, spec *plan.Spec) error {
	if tx.scans == 0 {
		return tx.flush(ctx)
	}
	for i := range tx.pending {
		w := &tx.pending[i]
		if w.Table.Name != table {
			continue
		}
		for _, r := range spec.Ranges {
			if w.Key >= r.Start && (r.End == "" || w.Key < r.End) {
				return fault.Errorf(fault.FailedPrecondition, "row %q was written while a scan of the transaction is under way; it can be read when the scan has ended", excerpt.Of(w.Key))
			}
		}
	}
	return nil
}

// Apply is [Table.Apply] in the transaction: the mutation takes effect when the
// transaction commits. Deletes look for the cells that they remove, one by one.
func (tx *Tx) Apply(ctx context.Context, table, key string, m *write.Mutation) error {
	const op = "apply"
	if err := tx.ready(ctx); err != nil {
		return tx.fail(op, table, key, err)
	}
	tx.wrote, tx.tables[table] = true, true
	w, err := edit.Check(tx.catalog, write.Entry{Table: table, Key: key, Mutation: m})
	if err != nil {
		return tx.fail(op, table, key, err)
	}
	w.Changes = slices.Clone(w.Changes)
	tx.newest = max(tx.newest, w.Newest)
	tx.pending = append(tx.pending, w)
	if tx.scans == 0 {
		return tx.fail(op, table, key, tx.flush(ctx))
	}
	return nil
}

// OnCommit makes [DB.Update] call fn once, in its goroutine, after the commit of this
// attempt. fn is not called if the attempt does not commit, nor if the outcome of the
// commit is unknown. It may use the database, but not the transaction. A nil fn is not
// called.
func (tx *Tx) OnCommit(fn func()) {
	if tx != nil && fn != nil {
		tx.onCommit = append(tx.onCommit, fn)
	}
}

// ready fails if the transaction cannot continue.
func (tx *Tx) ready(ctx context.Context) error {
	if tx == nil || tx.db == nil {
		return errNoTx
	}
	return cmp.Or(tx.err, tx.db.ready(ctx))
}

var errNoTx = fault.Errorf(fault.InvalidArgument, "there is no transaction; Update gives one to its function, until that returns")

// fail notes an error, after which the transaction cannot commit.
func (tx *Tx) fail(op, table, row string, err error) error {
	err = fail(op, table, row, err)
	if err != nil && tx != nil {
		tx.err = err
	}
	return err
}

// flush hands the waiting writes to the store's transaction.
func (tx *Tx) flush(ctx context.Context) error {
	for i := range tx.pending {
		if err := tx.add(ctx, &tx.pending[i]); err != nil {
			return err
		}
	}
	tx.pending = tx.pending[:0]
	return nil
}

// add encodes a write change by change, so that each change sees the earlier ones.
func (tx *Tx) add(ctx context.Context, w *edit.RowWrite) error {
	stamped, err := w.SetServerTime(ctx, &tx.db.state.Clock, tx.txn)
	if err != nil {
		return err
	}
	tx.logged = tx.logged || w.Logged()
	if w.Table.Marks != nil {
		tx.marked = append(tx.marked, *w)
	}
	if w.Reads() || stamped {
		// A delete writes according to the cells that it finds; and a timestamp
		// taken now must not commit after a later one.
		tx.txn.Read(w.Table.Name, cf.Single(w.Key))
	}
	for i := range w.Changes {
		var b cf.Batch
		e := edit.NewEncoder(ctx, &tx.db.state.Clock, tx.txn, &b)
		e.Singly = true
		one := edit.RowWrite{Table: w.Table, Key: w.Key, Changes: w.Changes[i : i+1]}
		if err := e.Write(&one); err != nil {
			return err
		}
		if err := tx.txn.Add(&b); err != nil {
			return err
		}
	}
	return nil
}
