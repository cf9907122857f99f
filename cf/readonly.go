package cf

import (
	"context"
	"errors"
	"time"
)

// A Refuser is a [Reader] that says why it cannot be written.
type Refuser interface {
	// Refusal matches [ErrReadOnly], or [ErrUnavailable] if the store takes writes soon.
	Refusal() error
}

// ReadOnly is a store that reads from r and refuses writes with the error of a [Refuser],
// or with [ErrReadOnly]. It keeps no log of changes.
func ReadOnly(r Reader) Store { return readOnly{r} }

type readOnly struct{ Reader }

func (s readOnly) refusal() error { return RefusalOf(s.Reader) }

// RefusalOf is the error of a Refuser, ErrReadOnly of any other store.
func RefusalOf(r Reader) error {
	if r, ok := r.(Refuser); ok {
		return r.Refusal()
	}
	return ErrReadOnly
}

// Begin starts a transaction that refuses changes, also when r is a Store.
func (s readOnly) Begin(ctx context.Context) (Txn, error) {
	t, err := s.Reader.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return readOnlyTxn{t, s.refusal()}, nil
}

type readOnlyTxn struct {
	Txn
	refusal error
}

func (t readOnlyTxn) Add(*Batch) error { return t.refusal }

// CatalogVersion implements [Versioned] for a transaction that does.
func (t readOnlyTxn) CatalogVersion(ctx context.Context) (uint64, error) {
	v, ok := t.Txn.(Versioned)
	if !ok {
		return 0, errors.New("the transaction does not know the version of the catalog")
	}
	return v.CatalogVersion(ctx)
}

func (s readOnly) CreateFamily(context.Context, ...string) error { return s.refusal() }
func (s readOnly) DropFamily(context.Context, ...string) error   { return s.refusal() }

func (s readOnly) Update(context.Context, []RowID, func(Snapshot, *Batch) error) (Position, error) {
	return 0, s.refusal()
}

func (s readOnly) Write(context.Context, []RowID, func(*Batch) error) (Position, error) {
	return 0, s.refusal()
}

func (s readOnly) PutMeta(context.Context, string, []byte) error    { return s.refusal() }
func (s readOnly) Ingest(context.Context) (Ingestion, error)        { return nil, s.refusal() }
func (s readOnly) DropRange(context.Context, []string, Range) error { return s.refusal() }

func (s readOnly) Flush(context.Context, string) error          { return s.refusal() }
func (s readOnly) Compact(context.Context, string, Range) error { return s.refusal() }
func (s readOnly) SetExpiry(string, Expiry) error               { return s.refusal() }
func (s readOnly) SetTuning(string, Tuning) error               { return s.refusal() }

func (s readOnly) KeepChanges(time.Time) error       { return s.refusal() }
func (readOnly) KeepsChanges() bool                  { return false }
func (s readOnly) Changes(Position) (Changes, error) { return nil, s.refusal() }
func (s readOnly) ChangeStarts() ([]Position, error) { return nil, s.refusal() }

// EndWaits ends nothing: no write waits.
func (readOnly) EndWaits() {}
