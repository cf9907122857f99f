package cells

import (
	"fmt"
	"time"
)

// A Timestamp is a cell's version: microseconds since the Unix epoch, UTC,
// from 0 to [MaxTimestamp]. 0 is the convention for "unversioned": each write
// of the column at 0 replaces the one before.
type Timestamp int64

// MaxTimestamp is the largest timestamp a cell may have, 2^62-1, some 146,000
// years after 1970. The bound keeps the inverted timestamp of a cell key at
// exactly eight bytes.
const MaxTimestamp Timestamp = 1<<62 - 1

// TimestampOf is t in whole microseconds, rounded down. The result may lie
// outside the range a cell may have; [Timestamp.Check] tells.
func TimestampOf(t time.Time) Timestamp { return Timestamp(t.UnixMicro()) }

// Time is the timestamp as a time in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Check returns an error that names the bound when t cannot be a cell's timestamp.
func (t Timestamp) Check() error {
	if t < 0 {
		return fmt.Errorf("timestamp %d is negative; timestamps are microseconds from 0 to %d", int64(t), int64(MaxTimestamp))
	}
	if t > MaxTimestamp {
		return fmt.Errorf("timestamp %d is too large; timestamps are microseconds from 0 to %d", int64(t), int64(MaxTimestamp))
	}
	return nil
}

// String is the timestamp in microseconds, as the language writes it after @.
func (t Timestamp) String() string { return fmt.Sprintf("%d", int64(t)) }
