package pebble

import (
	"encoding/binary"
	"math"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/smolwc/smolwc/cf"
)

// Blocks and table files say between which timestamps their cells lie. Reads skip those
// with only older cells, and the janitor those with only newer ones. A tombstone carries
// the timestamp of its cell, so a block with a tombstone is skipped only if the cell's
// block is.
const timesName = "smolwc.times"

func newTimes() engine.BlockPropertyCollector {
	return sstable.NewBlockIntervalCollector(timesName, timesOf{}, nil)
}

type timesOf struct{}

// MapPointKey reads the inverted timestamp at the end of a key. The smallest is the newest.
func (timesOf) MapPointKey(key engine.InternalKey, _ []byte) (sstable.BlockInterval, error) {
	k := key.UserKey
	if len(k) < idLen+cf.VersionLen || binary.BigEndian.Uint32(k) < firstFamily {
		return sstable.BlockInterval{Lower: 0, Upper: math.MaxUint64}, nil
	}
	at := binary.BigEndian.Uint64(k[len(k)-8:])
	return sstable.BlockInterval{Lower: at, Upper: at + 1}, nil
}

func (timesOf) MapRangeKeys(sstable.Span) (sstable.BlockInterval, error) {
	return sstable.BlockInterval{}, nil
}

// since is a filter of blocks that have cells from a timestamp on.
func since(ts int64) sstable.BlockPropertyFilter {
	return sstable.NewBlockIntervalFilter(timesName, 0, uint64(math.MaxInt64-ts)+1, nil)
}

// before is a filter of blocks that have cells before a timestamp.
func before(ts int64) sstable.BlockPropertyFilter {
	return sstable.NewBlockIntervalFilter(timesName, uint64(math.MaxInt64-ts)+1, math.MaxUint64, nil)
}

// oldest is a timestamp before which all cells are hidden.
func oldest(f *cf.Filter) int64 {
	least := f.Since
	for _, r := range f.Retention {
		if r.Versions == 0 && r.UpTo >= 0 && r.UpTo < math.MaxInt64 {
			least = max(least, r.UpTo+1)
		}
	}
	return least
}
