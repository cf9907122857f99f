package pebble

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// families are by name. The map is never changed.
type families map[string]*family

func (f families) get(name string) (*family, error) {
	if fam := f[name]; fam != nil {
		return fam, nil
	}
	return nil, fmt.Errorf("family %s %w", name, cf.ErrNotExist)
}

type family struct {
	name   string
	id     uint32
	prefix []byte
	expiry atomic.Pointer[cf.Expiry]
	// expiring is held while expired cells are deleted, and alone while their bound is
	// lowered: then later writes are kept.
	expiring  sync.RWMutex
	tuning    atomic.Pointer[cf.Tuning]
	unflushed [flushing + 1]memtableCount // about; by the state of their memtable
	buried    [1 << 8]atomic.Uint32       // hashes of rows
	read      *atomic.Int64               // the store's
}

// A memtableCount counts the entries in memtables of one state.
type memtableCount struct{ entries, tombstones atomic.Int64 }

// The states of memtables.
const (
	filling = iota
	full
	flushing
	inFiles // where the files count them
)

// wrote counts a change that is going to be in the memtable.
func (f *family) wrote(kind cf.OpKind) {
	f.unflushed[filling].entries.Add(1)
	if kind == cf.OpDelete || kind == cf.OpDeleteRange {
		f.unflushed[filling].tombstones.Add(1)
	}
}

// clockKey is the catalog's entry that changes each second. It is not part of the schema.
const clockKey = "smolwc/clock"
