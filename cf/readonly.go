package cf

import (
	"context"
	"time"
)

// ReadOnly is a store that reads from r and refuses writes with [ErrReadOnly]. It keeps
// no log of changes.
func ReadOnly(r Reader) Store { return readOnly{r} }

type readOnly struct{ Reader }

// Begin starts a transaction that refuses changes, also when r is a Store.
func (s readOnly) Begin(ctx context.Context) (Txn, error) {
	t, err := s.Reader.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return readOnlyTxn{t}, nil
}

type readOnlyTxn struct{ Txn }

func (readOnlyTxn) Add(*Batch) error { return ErrReadOnly }

func (readOnly) CreateFamily(context.Context, ...string) error { return ErrReadOnly }
func (readOnly) DropFamily(context.Context, ...string) error   { return ErrReadOnly }

func (readOnly) Update(context.Context, []RowID, func(Snapshot, *Batch) error) (Position, error) {
	return 0, ErrReadOnly
}

func (readOnly) Write(context.Context, []RowID, func(*Batch) error) (Position, error) {
	return 0, ErrReadOnly
}

func (readOnly) PutMeta(context.Context, string, []byte) error    { return ErrReadOnly }
func (readOnly) Ingest(context.Context) (Ingestion, error)        { return nil, ErrReadOnly }
func (readOnly) DropRange(context.Context, []string, Range) error { return ErrReadOnly }

func (readOnly) Flush(context.Context, string) error          { return ErrReadOnly }
func (readOnly) Compact(context.Context, string, Range) error { return ErrReadOnly }
func (readOnly) SetExpiry(string, Expiry) error               { return ErrReadOnly }
func (readOnly) SetTuning(string, Tuning) error               { return ErrReadOnly }

func (readOnly) KeepChanges(time.Time) error       { return ErrReadOnly }
func (readOnly) KeepsChanges() bool                { return false }
func (readOnly) Changes(Position) (Changes, error) { return nil, ErrReadOnly }
func (readOnly) ChangeStarts() ([]Position, error) { return nil, ErrReadOnly }

// EndWaits ends nothing: no write waits.
func (readOnly) EndWaits() {}
