package pebble

import (
	"encoding/binary"

	engine "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// A table file may have cells of several families. One of its properties counts them:
// triples of numbers, family, entries and tombstones.
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
