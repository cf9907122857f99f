package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/spans"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// Several processes may write a store: see cf.Shared. The version of the catalog tells
// each of them when another one changed the schema. Reads take a snapshot and the schema
// in it; see Moment. Each commit demands the version under which it was made, and runs
// again under the new schema if it changed; see Writing. So nothing depends on how long a
// process was stopped.

// share prepares for other processes that write the store.
func (db *DB) share(store cf.Shared) {
	db.Shared = store
	db.process = uuid.NewString()
	db.Clock.Shared = store.Now
	if !db.ReadOnly {
		db.Store = fenced{store, db}
	}
}

// wall is the machine's clock, set to the store's.
func (db *DB) wall() time.Time {
	return time.Now().Add(time.Duration(db.ahead.Load()) * time.Microsecond)
}

// clockStep is the difference of clocks that is not corrected: the store's clock goes in
// steps too.
const clockStep = 100 * time.Millisecond

// FollowClock sets the clock to the store's.
func (db *DB) FollowClock(ctx context.Context) error {
	if db.Shared == nil {
		return nil
	}
	now, err := db.Shared.Now(ctx)
	if err != nil {
		return err
	}
	ahead := now - time.Now().UnixMicro()
	if d := time.Duration(ahead-db.ahead.Load()) * time.Microsecond; d.Abs() > clockStep {
		db.ahead.Store(ahead)
	}
	return nil
}

func versionOf(ctx context.Context, snap cf.Snapshot) (uint64, error) {
	versioned, ok := snap.(cf.Versioned)
	if !ok {
		return 0, fault.Errorf(fault.FailedPrecondition, "the store's snapshots do not know the version of the catalog: a cf.Shared store gives cf.Versioned ones")
	}
	return versioned.CatalogVersion(ctx)
}

// Moment is a snapshot and the catalog in it. The caller closes the snapshot.
func (db *DB) Moment(ctx context.Context) (cf.Snapshot, *catalog.Catalog, error) {
	for {
		c := db.Catalog.Load()
		snap, err := db.Store.Snapshot(ctx)
		if err != nil {
			return nil, nil, err
		}
		current, err := db.IsCurrent(ctx, c, snap)
		if err == nil && current {
			return snap, c, nil
		}
		snap.Close()
		if err != nil {
			return nil, nil, err
		}
	}
}

// IsCurrent reports whether a catalog is the one in a snapshot that was taken after it was
// in force. If it is not, the snapshot's or a later one is in force now.
func (db *DB) IsCurrent(ctx context.Context, c *catalog.Catalog, snap cf.Snapshot) (bool, error) {
	if db.Shared == nil {
		return true, nil
	}
	version, err := versionOf(ctx, snap)
	if err != nil || version == c.Version {
		return true, err
	}
	return false, db.adopt(ctx, snap, version)
}

// Reading is a reader of one moment, and the catalog in it, for the reads of one call.
// Where no other process writes the store, it is the store itself, and its reads need not
// be of one moment. The caller calls done at the end.
func (db *DB) Reading(ctx context.Context) (r cf.Reader, c *catalog.Catalog, done func(), err error) {
	if db.Shared == nil {
		return db.Store, db.Catalog.Load(), nothing, nil
	}
	snap, c, err := db.Moment(ctx)
	if err != nil {
		return nil, nil, nothing, err
	}
	return moment{db.Store, snap}, c, snap.Close, nil
}

// AtOneMoment is Reading for the reads of several calls, always of one moment.
func (db *DB) AtOneMoment(ctx context.Context) (r cf.Reader, c *catalog.Catalog, done func(), err error) {
	snap, c, err := db.Moment(ctx)
	if err != nil {
		return nil, nil, nothing, err
	}
	return moment{db.Store, snap}, c, snap.Close, nil
}

func nothing() {}

// ReadingAhead runs fn, a read, with the catalog that this process knows and a reader that
// demands it. If another process changed the schema, fn runs again. So the store need not
// be asked for the catalog before the read.
func (db *DB) ReadingAhead(ctx context.Context, fn func(cf.Reader, *catalog.Catalog) error) error {
	for {
		c := db.Catalog.Load()
		if db.Shared == nil {
			return fn(db.Store, c)
		}
		err := fn(demanding{db.Store, c.Version}, c)
		if err == nil || !db.Overtaken(ctx, c) {
			return err
		}
	}
}

// Freshen makes the schema in force the newest one.
func (db *DB) Freshen(ctx context.Context) error {
	if db.Shared == nil {
		return nil
	}
	snap, _, err := db.Moment(ctx)
	if err == nil {
		snap.Close()
	}
	return err
}

// Overtaken reports whether another process changed the schema since a catalog was in
// force.
func (db *DB) Overtaken(ctx context.Context, c *catalog.Catalog) bool {
	return db.Shared != nil && db.Freshen(ctx) == nil && db.Catalog.Load().Version != c.Version
}

// adopt puts the catalog of a snapshot in force, unless it is older.
func (db *DB) adopt(ctx context.Context, snap cf.Snapshot, version uint64) error {
	if err := db.SchemaLock.Lock(ctx); err != nil {
		return err
	}
	defer db.SchemaLock.Unlock()
	old := db.Catalog.Load()
	if version <= old.Version {
		return nil
	}
	entries, err := snap.MetaPrefix(ctx, "")
	if err != nil {
		return err
	}
	if id := string(entries[catalog.KeyUUID]); id != db.UUID.String() {
		return fault.Errorf(fault.FailedPrecondition, "the store holds another database now, %s in place of %s; open it again", id, db.UUID)
	}
	if err := db.ReadFormat(entries); err != nil {
		return err
	}
	next, err := catalog.Read(entries)
	if err != nil {
		return err
	}
	next.Follow(old, func(table string) bool { return !sameTable(old.Tables[table], next.Tables[table]) })
	next.Version, next.Altering = version, string(entries[catalog.KeyAltering])
	db.Catalog.Store(next)
	if !maps.Equal(old.Streams, next.Streams) {
		db.Changes.Changed()
	}
	return nil
}

func sameTable(a, b *catalog.Table) bool {
	return a.Store == b.Store && reflect.DeepEqual(a.Declared, b.Declared) && reflect.DeepEqual(a.Stream, b.Stream)
}

// Writing runs fn, a write, while the schema stays as it is. If another process changed
// the schema, fn runs again under the new one: it must do nothing unless it succeeds.
func (db *DB) Writing(ctx context.Context, fn func(*catalog.Catalog) error) (err error) {
	ctx, span := spans.Begin(ctx, "write")
	defer func() { spans.End(span, err) }()
	db.Flow.Begin()
	defer db.Flow.End(ctx)
	for {
		c, err := db.Hold(ctx)
		if err != nil {
			return err
		}
		err = fn(c)
		db.SchemaLock.RUnlock()
		if err == nil || db.Shared == nil || errors.Is(err, cf.ErrUnknownOutcome) || !db.Overtaken(ctx, c) {
			return err
		}
	}
}

// ErrSchemaChanged says that the schema is not at the version that a context demands.
var ErrSchemaChanged = fault.Errorf(fault.Conflict, "nothing was changed: the schema has changed since the call looked at it")

type versionKey struct{}

// Under makes the writes and the changes of the schema with a context fail with
// ErrSchemaChanged unless they are made under a version of the schema.
func Under(ctx context.Context, version uint64) context.Context {
	return context.WithValue(ctx, versionKey{}, version)
}

// holds checks that a catalog is at the version that a context demands. Where several
// processes write the store, each commit demands the version of c in turn.
func holds(ctx context.Context, c *catalog.Catalog) error {
	if version, ok := ctx.Value(versionKey{}).(uint64); ok && version != c.Version {
		return ErrSchemaChanged
	}
	return nil
}

// Renew writes entries of the catalog that belong to a version of the schema without being
// a part of it, and begins a new version. check is called with the schema in force.
func (db *DB) Renew(ctx context.Context, check func(*catalog.Catalog) error, fn func(*cf.Batch) error) error {
	write := func(c *catalog.Catalog) error {
		if err := check(c); err != nil {
			return err
		}
		return db.WriteCatalog(ctx, func(b *cf.Batch) error {
			b.RaiseCatalog()
			return fn(b)
		})
	}
	if db.Shared != nil {
		err := db.Writing(ctx, write)
		if err == nil {
			_ = db.Freshen(ctx) // otherwise the next write does that
		}
		return err
	}
	unlock, err := db.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c := db.Catalog.Load()
	if err = write(c); err == nil || errors.Is(err, cf.ErrNotAcknowledged) {
		next := *c
		next.Version++
		db.Catalog.Store(&next)
	}
	return err
}

// Hold locks the schema for a write that Writing cannot run again. The caller ends with
// SchemaLock.RUnlock.
func (db *DB) Hold(ctx context.Context) (*catalog.Catalog, error) {
	for {
		if err := db.SchemaLock.RLock(ctx); err != nil {
			return nil, err
		}
		c := db.Catalog.Load()
		if c.Altering == "" {
			err := holds(ctx, c)
			if err != nil {
				db.SchemaLock.RUnlock()
			}
			return c, err
		}
		db.SchemaLock.RUnlock()
		if err := db.awaitChange(ctx, c); err != nil {
			return nil, err
		}
	}
}

// The times of a change of the schema.
const (
	alterBeat = time.Second            // how often its process says that it lives
	alterPoll = 100 * time.Millisecond // how often others look whether it is over
)

// AlterLost is the time without a sign of life after which a process counts as dead. If it
// lives all the same, its commits fail: the version of the catalog was raised. Only tests
// change it.
var AlterLost = 10 * time.Second

// LockSchema excludes writes and other changes of the schema, in all processes, until
// unlock is called.
func (db *DB) LockSchema(ctx context.Context) (unlock func(), err error) {
	for {
		if err := db.SchemaLock.Lock(ctx); err != nil {
			return nil, err
		}
		c := db.Catalog.Load()
		if err := holds(ctx, c); err != nil {
			db.SchemaLock.Unlock()
			return nil, err
		}
		if db.Shared == nil {
			return db.SchemaLock.Unlock, nil
		}
		err = cf.ErrCatalogChanged
		if c.Altering == "" {
			if err = db.freeze(ctx); err == nil {
				return db.unfreeze(), nil
			}
		}
		db.SchemaLock.Unlock()
		if errors.Is(err, cf.ErrCatalogChanged) {
			err = db.awaitChange(ctx, c)
		}
		if err != nil {
			return nil, err
		}
	}
}

// freeze marks the schema as being changed by this process. From then on no other process
// commits anything.
func (db *DB) freeze(ctx context.Context) error { return db.mark(ctx, db.process+" 0") }

// mark changes the mark of the process that changes the schema, and raises the version.
// The schema lock is held.
func (db *DB) mark(ctx context.Context, mark string) error {
	err := db.WriteCatalog(ctx, func(b *cf.Batch) error {
		b.RaiseCatalog()
		if mark == "" {
			b.DeleteMeta(catalog.KeyAltering)
		} else {
			b.PutMeta(catalog.KeyAltering, []byte(mark))
		}
		return nil
	})
	if err != nil {
		return err
	}
	next := *db.Catalog.Load()
	next.Version++
	next.Altering = mark
	db.Catalog.Store(&next)
	return nil
}

// unfreeze begins to give signs of life, and returns the function that ends the change of
// the schema. If it cannot be ended now, others count this process as dead.
func (db *DB) unfreeze() func() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		db.beat(ctx)
	}()
	return func() {
		stop()
		<-ended
		ctx, cancel := context.WithTimeout(context.Background(), AlterLost)
		defer cancel()
		if err := db.mark(ctx, ""); err != nil {
			db.Logger.Warn("a change of the schema was not ended; other processes wait until they count this one as dead", "error", err)
		}
		db.SchemaLock.Unlock()
	}
}

// beat gives signs of life. A failure is left to the next one: the change itself finds out
// when it was taken over.
func (db *DB) beat(ctx context.Context) {
	tick := time.NewTicker(alterBeat)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			mark := fmt.Appendf(nil, "%s %d", db.process, n)
			_, _ = db.Store.Write(ctx, nil, func(b *cf.Batch) error {
				b.PutMeta(catalog.KeyAltering, mark)
				return nil
			})
		}
	}
}

// awaitChange waits until the catalog is another one than c. When the process that changes
// the schema gives no signs of life, it takes the change over.
func (db *DB) awaitChange(ctx context.Context, c *catalog.Catalog) error {
	mark, since := "", time.Now()
	for {
		if err := db.Freshen(ctx); err != nil {
			return err
		}
		if db.Catalog.Load().Version != c.Version {
			return nil
		}
		entries, err := catalog.Entries(ctx, db.Store, catalog.KeyAltering)
		if err != nil {
			return err
		}
		now := string(entries[catalog.KeyAltering])
		if now != mark {
			mark, since = now, time.Now()
		}
		if now != "" && time.Since(since) > AlterLost {
			return db.takeOver(ctx, c)
		}
		select {
		case <-ctx.Done():
			return fault.Of(fault.Unavailable, errors.Join(errors.New("nothing was written; another process is changing the schema"), ctx.Err()))
		case <-time.After(alterPoll):
		}
	}
}

// takeOver ends the change of the schema that a dead process began: that did all of its
// work, or the part that does no harm.
func (db *DB) takeOver(ctx context.Context, c *catalog.Catalog) error {
	if err := db.SchemaLock.Lock(ctx); err != nil {
		return err
	}
	if db.Catalog.Load().Version != c.Version {
		db.SchemaLock.Unlock()
		return nil
	}
	if err := db.freeze(ctx); err != nil {
		db.SchemaLock.Unlock()
		if errors.Is(err, cf.ErrCatalogChanged) {
			return nil
		}
		return err
	}
	owner, _, _ := strings.Cut(c.Altering, " ")
	db.Logger.Warn("a process has not ended its change of the schema; its locks are taken over", "process", owner)
	defer db.unfreeze()()
	return db.finishDrops(ctx)
}
