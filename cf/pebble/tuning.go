package pebble

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// SetTuning implements [cf.Store]. Pebble does by family what a policy of a span of keys
// can say: "lz4" and "none" take its fastest compression at the last level too, which uses
// zstd otherwise, and values are stored apart in the families that want it, from the least
// BlobMinSize of all families on. All blocks are of one size.
func (s *Store) SetTuning(name string, t cf.Tuning) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, err := s.lookup(context.Background(), name)
	if err != nil {
		return err
	}
	switch t.Compression {
	case "", "none", "lz4", "zstd":
	default:
		return fmt.Errorf("compression %q is unknown; want none, lz4 or zstd", t.Compression)
	}
	f.tuning.Store(&t)
	return nil
}

// usual is the policy of families without a tuning. By default Pebble takes all but the
// first key of a prefix for older versions, and puts their values into blocks apart. Here
// a prefix is a row.
var usual = engine.SpanPolicy{DisableValueSeparationBySuffix: true, ValueStoragePolicy: engine.ValueStorageLowReadLatency}

func (f *family) policy() engine.SpanPolicy {
	p, t := usual, f.tuning.Load()
	p.PreferFastCompression = t.Compression == "none" || t.Compression == "lz4"
	if t.BlobMinSize > 0 {
		p.ValueStoragePolicy = engine.ValueStorageDefault
	}
	return p
}

// span is the policy of the keys from start to end; without an end it is for all further
// keys. Families with the same policy share files.
func (s *Store) span(start []byte) (p engine.SpanPolicy, end []byte, err error) {
	special := map[uint32]engine.SpanPolicy{}
	for _, f := range *s.families.Load() {
		if p := f.policy(); p != usual {
			special[f.id] = p
		}
	}
	var id uint32
	if len(start) >= idLen {
		id = binary.BigEndian.Uint32(start)
	}
	if p, ok := special[id]; ok {
		for ok && special[id] == p {
			id++
			_, ok = special[id]
		}
		return p, appendID(nil, id), nil
	}
	for next := range special {
		if next > id && (end == nil || next < binary.BigEndian.Uint32(end)) {
			end = appendID(nil, next)
		}
	}
	return usual, end, nil
}

// separation is on when a family wants it.
func (s *Store) separation() (p engine.ValueSeparationPolicy) {
	s.rest()
	for _, f := range *s.families.Load() {
		if size := int(f.tuning.Load().BlobMinSize); size > 0 && (!p.Enabled || size < p.MinimumSize) {
			p = engine.ValueSeparationPolicy{
				Enabled: true, MinimumSize: size, MaxBlobReferenceDepth: 10,
				RewriteMinimumAge: 5 * time.Minute, TargetGarbageRatio: 0.25,
			}
		}
	}
	if s.rewriting.Load() > 0 { // blob files may hold deleted values: rewrite them, too
		p.MaxBlobReferenceDepth = 0
	}
	return p
}
