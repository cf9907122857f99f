package pebble

import (
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// A following describes the log of a standby, and the record that it applies next.
type following struct {
	is   atomic.Bool // the store follows another one
	next uint64      // the number of Pebble's next change, 0 if it is not known; guarded by shaping

	record *cf.LogRecord
	read   *inspected // of record
}

// An inspected record was read and not applied yet.
type inspected struct {
	cf.Need
	record
	done    bool // the standby holds it
	created families
	dropped []string
	nextID  uint32
	load    *load // that becomes visible
	here    bool  // its cells are visible already
	changes []changed
}

// A changed is the number of changes of a kind in a family.
type changed struct {
	id   uint32
	kind cf.OpKind
}
