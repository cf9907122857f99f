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

// The turns of a change of the schema, which are as long as a write may have to wait for it,
// and the pauses between them, which get shorter: then fewer new writes are under way when a
// turn begins.
const (
	schemaTurn    = 50 * time.Millisecond
	longTurn      = 90 * time.Millisecond
	schemaPause   = 25 * time.Millisecond
	shortestPause = time.Millisecond
	patientFor    = 5 * time.Second // then a turn is long, and each pause is shorter
)

func (l schemaLock) Lock(ctx context.Context) error {
	turn, pause := schemaTurn, schemaPause
	for began := time.Now(); ; {
		if l.tryFor(ctx, turn) == nil {
			return nil
		}
		if time.Since(began) > patientFor {
			turn, pause = longTurn, max(pause*9/10, shortestPause)
		}
		between := time.NewTimer(pause)
		select {
		case <-between.C:
		case <-ctx.Done():
		}
		between.Stop()
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
