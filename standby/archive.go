package standby

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// An Archive has backups of a database and the log that continues them, as a moments.Source of package
// archive/moments. A standby calls one method at a time.
type Archive interface {
	// Base makes a database in dir, which does not exist, of a backup from which the log leads to a moment, to
	// the newest one if at is zero.
	Base(ctx context.Context, of Archived, at time.Time, dir string) error
	// Log calls take with the records after a position, in order, up to a moment, or to the end if at is zero. What is missing
	// or damaged is an error that names it. A record and its data belong to take.
	Log(ctx context.Context, of Archived, after uint64, at time.Time, take func(*cf.LogRecord, Loads) error) error
}

// An Archived says whose log is read: that of a primary. Otherwise an Archive fails.
type Archived struct {
	Database, History string
	Epoch             int64
}

// Loads brings the files of a load to a directory, onto the disk.
type Loads func(ctx context.Context, load, dir string) error
