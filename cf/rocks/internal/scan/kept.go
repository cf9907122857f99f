//go:build cgo && linux && !norocksdb

package scan

// #include "kept.h"
import "C"

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// keptCursors are cursors of a family that reads of single rows left for later reads.
// They hold memory and files that the engine could free otherwise.
type keptCursors struct{ c *C.smolwc_kept }

func newKeptCursors() keptCursors { return keptCursors{C.smolwc_kept_new()} }

// clear frees the cursors that are not in use.
func (k keptCursors) clear() { C.smolwc_kept_clear(k.c) }

func (k keptCursors) free() { C.smolwc_kept_free(k.c) }

// filesOf maps the first row of a scan to a number, which is the same for all rows in
// the same files of a family. begins reports that a file begins in that row.
func (e *Engine) filesOf(f *Family, spec *cf.Scan) (files C.size_t, begins bool) {
	starts := e.fileStarts(f)
	if len(starts) == 0 || len(spec.Rows) == 0 {
		return 0, false
	}
	i, begins := slices.BinarySearchFunc(starts, spec.Rows[0].Start, func(s fileStart, row string) int { return strings.Compare(s.row, row) })
	return C.size_t(i), begins
}
