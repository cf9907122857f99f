package pebble

import (
	"encoding/binary"

	engine "github.com/cockroachdb/pebble/v2"
)

// A fieldReader reads the fields of a record. bad is set if they are not as expected.
type fieldReader struct {
	rest []byte
	bad  bool
}

func (r *fieldReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *fieldReader) text() []byte {
	size := r.number()
	if size > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	text := r.rest[:size]
	r.rest = r.rest[size:]
	return text
}

// op reads an operation of a batch, which Pebble's own reader follows beyond the end of one
// that is cut off.
func (r *fieldReader) op() (kind engine.InternalKeyKind, key, value []byte) {
	kind, r.rest = engine.InternalKeyKind(r.rest[0]), r.rest[1:]
	key = r.text()
	switch kind {
	case engine.InternalKeyKindDelete, engine.InternalKeyKindSingleDelete, engine.InternalKeyKindLogData, engine.InternalKeyKindIngestSST:
	case engine.InternalKeyKindSet, engine.InternalKeyKindMerge, engine.InternalKeyKindRangeDelete, engine.InternalKeyKindDeleteSized,
		engine.InternalKeyKindRangeKeySet, engine.InternalKeyKindRangeKeyUnset, engine.InternalKeyKindRangeKeyDelete, engine.InternalKeyKindExcise:
		value = r.text()
	default:
		r.bad = true
	}
	return kind, key, value
}
