package query

import (
	"context"
	"fmt"

	"github.com/smolwc/smolwc/internal/lock"
)

// A schemaLock is held shared by writes, and exclusively by changes of the
// schema, so that a write commits under the schema that it was checked against. A
// write may take long in the store, so a context can end the wait.
type schemaLock struct{ rw lock.RW }

func newSchemaLock() schemaLock { return schemaLock{lock.NewRW()} }

func (l schemaLock) Lock(ctx context.Context) error {
	if err := l.rw.Lock(ctx); err != nil {
		return fmt.Errorf("nothing was changed; waiting for writes that are under way: %w", err)
	}
	return nil
}

func (l schemaLock) Unlock() { l.rw.Unlock() }

func (l schemaLock) RLock(ctx context.Context) error {
	if err := l.rw.RLock(ctx); err != nil {
		return fmt.Errorf("nothing was written; waiting for a change of the schema: %w", err)
	}
	return nil
}

func (l schemaLock) RUnlock() { l.rw.RUnlock() }
