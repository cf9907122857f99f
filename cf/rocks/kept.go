package rocks

// #include "kept.h"
import "C"

import (
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// keptCursors are cursors of a family that reads of single rows left for the next
// ones. They hold on to memory and files that the engine would give up otherwise.
type keptCursors struct{ c *C.smolwc_kept }

func newKeptCursors() keptCursors { return keptCursors{C.smolwc_kept_new()} }

// clear frees what no read is using.
func (k keptCursors) clear() { C.smolwc_kept_clear(k.c) }

func (k keptCursors) free() { C.smolwc_kept_free(k.c) }

// filesOf is a number that rows in the same files of a family have in common, for
// the first row of a scan; begins says that a file begins in that row.
func (s *Store) filesOf(f *family, spec *cf.Scan) (files C.size_t, begins bool) {
	starts := s.fileStarts(f)
	if len(starts) == 0 || len(spec.Rows) == 0 {
		return 0, false
	}
	i, begins := slices.BinarySearchFunc(starts, spec.Rows[0].Start, func(s fileStart, row string) int { return strings.Compare(s.row, row) })
	return C.size_t(i), begins
}

// keptFor is how long a cursor may be kept. Making another one every now and then
// costs nothing, and what a compaction made superfluous goes soon.
const keptFor = time.Second

// sweepLater has what is kept cleared after keptFor. The caller has put back what it
// took, and holds s.mu or a snapshot in use.
func (s *Store) sweepLater() {
	if !s.sweeping.Load() && s.sweeping.CompareAndSwap(false, true) {
		time.AfterFunc(keptFor, s.sweep)
	}
}

func (s *Store) sweep() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	s.sweeping.Store(false) // first: what is put back behind it is for the next sweep
	for _, f := range *s.families.Load() {
		f.kept.clear()
	}
}
