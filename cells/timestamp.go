package cells

import (
	"fmt"
	"math"
	"time"
)

// A Timestamp is a cell's version: microseconds since the Unix epoch, UTC,
// from 0 to [MaxTimestamp]. 0 is the convention for "unversioned": each write
// of the column at 0 replaces the one before.
type Timestamp int64

// MaxTimestamp is the largest timestamp, 2^63-1, in the year 294,247.
const MaxTimestamp Timestamp = math.MaxInt64

// TimestampOf is t in whole microseconds, rounded down. The result may be outside the
// range of a cell's timestamps; [Timestamp.Check] reports that.
func TimestampOf(t time.Time) Timestamp { return Timestamp(t.UnixMicro()) }

// Time is the timestamp as a time in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Check returns an error that names the bounds when t cannot be a cell's
// timestamp: when it is negative.
func (t Timestamp) Check() error {
	if t < 0 {
		return fmt.Errorf("timestamp %d is negative; timestamps are microseconds from 0 to %d", int64(t), int64(MaxTimestamp))
	}
	return nil
}

// Until is the end, exclusive, of a time range whose last timestamp is t: t+1. For
// [MaxTimestamp] it is 0, which means no bound.
func (t Timestamp) Until() Timestamp {
	if t == MaxTimestamp {
		return 0
	}
	return t + 1
}

// RoundDown is the greatest multiple of unit that is not after t, which is not negative.
// A unit of 1 or less leaves t as it is.
func (t Timestamp) RoundDown(unit Timestamp) Timestamp {
	if unit > 1 {
		t -= t % unit
	}
	return t
}

// String is the timestamp in microseconds, as the language writes it after @.
func (t Timestamp) String() string { return fmt.Sprintf("%d", int64(t)) }
