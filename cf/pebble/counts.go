package pebble

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/smolwc/smolwc/cf"
)

// A table file may have cells of several families. A property of it says how many entries
// and tombstones each has: triples of numbers, family, entries and tombstones.
const countsName = "smolwc.counts"

func newCounts() engine.BlockPropertyCollector { return &counter{} }

type count struct {
	id                  uint32
	entries, tombstones uint64
}

// A counter implements engine.BlockPropertyCollector. Blocks have no property.
type counter struct{ counts []count }

func (*counter) Name() string { return countsName }

func (c *counter) AddPointKey(key engine.InternalKey, _ []byte) error {
	if len(key.UserKey) < idLen {
		return nil
	}
	id := binary.BigEndian.Uint32(key.UserKey)
	if n := len(c.counts); n == 0 || c.counts[n-1].id != id {
		c.counts = append(c.counts, count{id: id})
	}
	last := &c.counts[len(c.counts)-1]
	last.entries++
	switch key.Kind() {
	case engine.InternalKeyKindDelete, engine.InternalKeyKindDeleteSized, engine.InternalKeyKindSingleDelete:
		last.tombstones++
	}
	return nil
}

func (*counter) AddRangeKeys(sstable.Span) error                        { return nil }
func (*counter) AddCollectedWithSuffixReplacement(_, _, _ []byte) error { return nil }
func (*counter) SupportsSuffixReplacement() bool                        { return false }
func (*counter) FinishDataBlock(buf []byte) ([]byte, error)             { return buf, nil }
func (*counter) AddPrevDataBlockToIndexBlock()                          {}
func (*counter) FinishIndexBlock(buf []byte) ([]byte, error)            { return buf, nil }

func (c *counter) FinishTable(buf []byte) ([]byte, error) {
	for _, n := range c.counts {
		buf = binary.AppendUvarint(buf, uint64(n.id))
		buf = binary.AppendUvarint(buf, n.entries)
		buf = binary.AppendUvarint(buf, n.tombstones)
	}
	return buf, nil
}

// parseCounts reads the property, which begins with a byte of Pebble's.
func parseCounts(property string) (counts []count) {
	if property == "" {
		return nil
	}
	for rest := []byte(property[1:]); len(rest) > 0; {
		var numbers [3]uint64
		for i := range numbers {
			n, k := binary.Uvarint(rest)
			if k <= 0 {
				return counts
			}
			numbers[i], rest = n, rest[k:]
		}
		counts = append(counts, count{uint32(numbers[0]), numbers[1], numbers[2]})
	}
	return counts
}

// A memtableCount counts what is in memtables of one state.
type memtableCount struct{ entries, tombstones atomic.Int64 }

// The states of memtables.
const (
	filling = iota
	full
	flushing
	inFiles // where the files count them
)

// moveCounts moves the counts of all families to another state.
func (s *Store) moveCounts(from, to int) {
	for _, f := range *s.families.Load() {
		entries, tombstones := f.unflushed[from].entries.Swap(0), f.unflushed[from].tombstones.Swap(0)
		if to != inFiles {
			f.unflushed[to].entries.Add(entries)
			f.unflushed[to].tombstones.Add(tombstones)
		}
	}
}

// wrote counts a change that is going to be in the memtable.
func (f *family) wrote(kind cf.OpKind) {
	f.unflushed[filling].entries.Add(1)
	if kind == cf.OpDelete || kind == cf.OpDeleteRange {
		f.unflushed[filling].tombstones.Add(1)
	}
}

// A tableCounts are the counts of a table file.
type tableCounts struct {
	counts []count
	ranges int64 // range tombstones
	blobs  int64 // values that are stored apart
}

// tableCounts reads the property of the files that it does not know yet.
func (s *Store) tableCounts() (levels [][]engine.SSTableInfo, of map[uint64]tableCounts, err error) {
	if levels, err = s.db.SSTables(); err != nil {
		return nil, nil, wrap(err)
	}
	known, _ := s.counted.Load().(map[uint64]tableCounts)
	unknown := false
	of = map[uint64]tableCounts{}
	for _, level := range levels {
		for _, t := range level {
			c, ok := known[uint64(t.BackingSSTNum)]
			of[uint64(t.BackingSSTNum)] = c
			unknown = unknown || !ok
		}
	}
	if unknown {
		if levels, err = s.db.SSTables(engine.WithProperties()); err != nil {
			return nil, nil, wrap(err)
		}
		of = map[uint64]tableCounts{}
		for _, level := range levels {
			for _, t := range level {
				if t.Properties != nil {
					of[uint64(t.BackingSSTNum)] = tableCounts{parseCounts(t.Properties.UserProperties[countsName]), int64(t.Properties.NumRangeDeletions), int64(t.Properties.NumValuesInBlobFiles)}
				}
			}
		}
	}
	s.counted.Store(of)
	return levels, of, nil
}

// familyStats are the figures of all families.
func (s *Store) familyStats(ctx context.Context, m *engine.Metrics) (map[string]cf.FamilyStats, error) {
	levels, counts, err := s.tableCounts()
	if err != nil {
		return nil, err
	}
	byID, apart, allApart := map[uint32]*cf.FamilyStats{}, map[uint32]float64{}, 0.0
	for at, level := range levels {
		for _, t := range level {
			c := counts[uint64(t.BackingSSTNum)]
			var entries uint64
			for _, n := range c.counts {
				entries += n.entries
			}
			for _, n := range c.counts {
				values := float64(c.blobs) * float64(n.entries) / float64(entries)
				apart[n.id] += values
				allApart += values
				f := byID[n.id]
				if f == nil {
					f = &cf.FamilyStats{Levels: make([]int64, len(levels))}
					byID[n.id] = f
				}
				f.Levels[at]++
				f.Entries += int64(n.entries)
				f.Tombstones += int64(n.tombstones)
				if len(c.counts) == 1 {
					f.Entries += c.ranges
					f.Tombstones += c.ranges
				}
			}
		}
	}
	all := map[string]cf.FamilyStats{}
	var files int64
	for name, f := range *s.families.Load() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fs := cf.FamilyStats{Levels: make([]int64, len(levels))}
		if have := byID[f.id]; have != nil {
			fs = *have
		}
		if allApart > 0 {
			fs.BlobBytes = int64(apart[f.id] / allApart * float64(m.BlobFiles.LiveSize))
		}
		for i := range f.unflushed {
			fs.Entries += f.unflushed[i].entries.Load()
			fs.Tombstones += f.unflushed[i].tombstones.Load()
		}
		n, err := s.db.EstimateDiskUsage(f.prefix, appendID(nil, f.id+1))
		if err != nil {
			return nil, wrap(err)
		}
		fs.FileBytes = int64(n)
		files += fs.FileBytes
		all[name] = fs
	}
	// What is of all families together is divided by their files.
	for name, fs := range all {
		if files > 0 {
			part := float64(fs.FileBytes) / float64(files)
			fs.PendingBytes = int64(part * float64(m.Compact.EstimatedDebt))
			fs.MemtableBytes = int64(part * float64(m.MemTable.Size))
		} else {
			fs.MemtableBytes = int64(m.MemTable.Size) / int64(len(all))
		}
		all[name] = fs
	}
	return all, nil
}
