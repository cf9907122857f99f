package state

import (
	"context"
	"fmt"
	"time"

	"github.com/smolwc/smolwc/internal/lock"
)

// A schemaLock is held shared by writes, and exclusively by changes of the
// schema, so that a write commits under the schema that it was checked against. A
// write may take long in the store, so a context can end the wait.
//
// A change of the schema waits in turns. Between them writes pass it, so that it makes no
// write wait for one that takes long.
type schemaLock struct{ rw lock.RW }

// The turns of a change of the schema. Where writes take longer than its first turns, it
// would never come in between them.
const (
	schemaTurn  = 50 * time.Millisecond
	longTurn    = 10 * schemaTurn
	patientFor  = 30 * time.Second // then its turns are long
	schemaPause = 25 * time.Millisecond
)

func (l schemaLock) Lock(ctx context.Context) error {
	for began := time.Now(); ; {
		turn := schemaTurn
		if time.Since(began) > patientFor {
			turn = longTurn
		}
		if l.tryFor(ctx, turn) == nil {
			return nil
		}
		pause := time.NewTimer(schemaPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("nothing was changed; waiting for writes that are under way: %w", err)
		}
	}
}

func (l schemaLock) tryFor(ctx context.Context, turn time.Duration) error {
	ctx, end := context.WithTimeout(ctx, turn)
	defer end()
	return l.rw.Lock(ctx)
}

func (l schemaLock) Unlock() { l.rw.Unlock() }

func (l schemaLock) RLock(ctx context.Context) error {
	if err := l.rw.RLock(ctx); err != nil {
		return fmt.Errorf("nothing was written; waiting for a change of the schema: %w", err)
	}
	return nil
}

func (l schemaLock) RUnlock() { l.rw.RUnlock() }
