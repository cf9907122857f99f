// Package plumbing is what smolwc's own packages need of an open database, beside what
// package query offers to programs: the notes of servers, the marks of views, the files of
// backups, and the hooks of standbys. The method Plumbing of query.DB gives a [DB].
//
// A program needs none of it, and nothing here is promised: it changes with the packages
// that use it. It lies below package query, so it names a database by an interface.
package plumbing

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/engine"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A DB is a database seen by smolwc's own packages. It is safe for concurrent use, and its
// errors are of the type Error of package query.
type DB interface {
	// Wall is the time of the database's wall clock. Unless the clock was given, it
	// includes a reading of the monotonic clock, so differences of two of its times are
	// right when the wall clock is set. It is the zero time for a nil database.
	Wall() time.Time
	// Shared reports whether other processes may write the database.
	Shared() bool
	// Held is the value that a layer above keeps with the open database under a key. The
	// first call for a key makes it; if several calls do at once, all of them get one of
	// the values. A nil make gives nil where there is no value, and so does a nil database.
	Held(key any, make func() any) any
	// NewLedger returns a new [Ledger], whose files are in the directory of the database.
	// If the database is nil, they are in a directory for temporary files, and the ledger
	// uses up to 32 MiB. repeated, which may be nil, is called for each record that
	// repeats another, until Count returns: by several goroutines, but one at a time.
	NewLedger(ctx context.Context, repeated func(Repeat)) (Ledger, error)

	Versions
	Notes
	Marks
	Files
	Diverging
}

// Versions are the versions of a database's schema.
type Versions interface {
	// SchemaVersion is the version of the schema in force: it grows with each change of
	// the schema, or of a table's note, that this process makes or learns of. It is
	// comparable only with others of the same open database.
	SchemaVersion() uint64
	// UnderSchema is a context for writes, and for changes of the schema, that were
	// prepared with what SchemaVersion had at a version, such as with the notes of tables.
	// If they would commit under another version, they change nothing and fail with
	// [ErrSchemaChanged].
	UnderSchema(ctx context.Context, version uint64) context.Context
	// NewestTable is LookupTable after a look at the store: no change that another process
	// made is missing. While the store does not answer, it is LookupTable.
	NewestTable(ctx context.Context, name string) (t schema.Table, ok bool)
}

// ErrSchemaChanged matches, with errors.Is, the error of a change with a context of
// UnderSchema if the schema is at another version by now. Its kind is that of a conflict.
var ErrSchemaChanged = state.ErrSchemaChanged

// Notes are entries of the catalog for layers above, which interpret them. A change is on
// disk when it returns.
type Notes interface {
	// SetNote stores value under a name; a nil value removes the note.
	SetNote(ctx context.Context, name string, value []byte) error
	// Notes are the notes whose names start with prefix, by their names.
	Notes(ctx context.Context, prefix string) (map[string][]byte, error)
	// SetTableNote stores the note of a table; a nil value removes it. Dropping the table
	// also removes it. The change begins a new version of the schema: see UnderSchema.
	SetTableNote(ctx context.Context, table string, value []byte) error
	// TableNotes are the notes of all tables, by the tables' names.
	TableNotes(ctx context.Context) (map[string][]byte, error)
	// SetCopying marks the database as the unfinished target of a copy of the database with
	// an id, as the method Unfinished of query.DB reports it; uuid.Nil removes the mark.
	SetCopying(ctx context.Context, of uuid.UUID) error
}

// Marks tell which rows of a table have changed.
type Marks interface {
	// MarkChanges begins to mark the rows of a table that change: the commit of a change
	// also marks its row, in the table [schema.MarksOf], by a row of the same key with one
	// cell, m:"" at 0. It reports whether it began now. Otherwise an earlier call began it.
	//
	// Each change of the table's schema ends the marks and drops their table: then every
	// row may be different. A table with marks takes no bulk loads, and a delete of ranges
	// deletes row by row. The first call gives the database format 3.
	MarkChanges(ctx context.Context, table string) (began bool, err error)
	// TakeMarked removes and returns the keys of the rows that this process marked since
	// the last call. If all is false, they may be incomplete, and the table
	// [schema.MarksOf] must be read as well: so it is after the database was opened, after
	// a great many changes, after ForgetMarked, and always when other processes may write
	// the database. The marks in that table stay until the caller deletes them, in a
	// transaction that read the rows.
	TakeMarked(table string) (keys []string, all bool)
	// ForgetMarked makes the next TakeMarked report that the marks have to be read.
	ForgetMarked(table string)
}

// Files are what backups need: a copy of the files, and where the last backup is.
type Files interface {
	// Freeze makes a checkpoint, calls fn with it, and removes it: a backup uses it to read
	// a database during writes. Only one runs at a time; other calls wait until their
	// contexts end. An error of fn is returned unchanged.
	Freeze(ctx context.Context, fn func(Frozen) error) error
	// CanFreeze says why Freeze and Checkpoint cannot copy the database: it is opened
	// read-only and not as a standby, or is not in a directory. nil means that they can.
	CanFreeze() error
	// FilesDir is the absolute path of the directory with the database's files: Dir, or
	// the directory of the standby whose database it is; "" without one.
	FilesDir() string
	// BackupTarget is the target of the last backup, as noted with SetBackupTarget; "" when
	// there was no backup.
	BackupTarget(ctx context.Context) (string, error)
	// SetBackupTarget notes the target of the last backup.
	SetBackupTarget(ctx context.Context, target string) error
}

// Diverging compares the tables of several databases.
type Diverging interface {
	// Diverge calls fn for each column that is not the same in this database and all others, in
	// the order of rows, families and qualifiers. It looks at the rows of a table in ranges,
	// which are sorted and disjoint. Cells that the rule of any of the databases drops sooner or
	// later are left out, at one moment for all. A table or a family that a database lacks is
	// empty there. The others come from the method Plumbing of query.DB. fn may keep the column.
	// Its error ends the comparison and is returned unchanged.
	Diverge(ctx context.Context, table string, others []DB, rows []cf.Range, fn func(*Column) error) error
}

// A Frozen is a copy of a database that exists while Freeze runs.
type Frozen struct {
	// Dir holds the files, which nobody changes. It is on the file system of the
	// database.
	Dir string
	// Time is when the copy was made, by the database's clock, and Position counts the
	// writes: the copy contains all writes that returned before Time.
	Time     time.Time
	Position uint64
	// Format is the database's format on disk when the copy was made.
	Format int
}

// A Load is a bulk load of a file's records, which may not repeat each other. It belongs to
// the goroutine of its BulkLoad, whose method Plumbing gives it.
type Load interface {
	// OnRepeat makes Apply and Commit call fn for each record given to ApplyRecord that
	// repeats another: by several goroutines, but one at a time.
	OnRepeat(fn func(Repeat))
	// ApplyRecord is Apply for a record. When two have one row key and one time, Commit
	// calls the function of OnRepeat for each but the first, and fails with
	// [ErrRepeated]. The time is any number that distinguishes the records of one row,
	// such as the timestamp of their cells.
	ApplyRecord(key string, at cells.Timestamp, r Record, m *write.Mutation) error
}

// ReleaseMemory gives unused memory back to the system: from Go's heap, after a
// collection, and from the C library, which keeps much of it after memtables were
// flushed. It concerns the whole process and takes some milliseconds; it is for a
// long-running process that became idle.
func ReleaseMemory() {
	debug.FreeOSMemory()
	engine.ReleaseMemory()
}
