package rocks

// #include <stdlib.h>
// #include "holding.h"
import "C"

import (
	"fmt"
	"path/filepath"
	"syscall"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// holdFiles has a store that is opened for reading keep its blob files, whatever
// the writer does with them. One that is gone already is not its fault: either the
// view is out of date, and its opening does not count, or the file is lost, which
// reads of it will say.
func (s *Store) holdFiles() error {
	for _, f := range *s.families.Load() {
		for _, b := range s.blobFiles(f) {
			if err := s.engine.hold(filepath.Join(s.dir, b.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *engine) setHolding() {
	e.holding = C.smolwc_holding_new((*C.rocksdb_options_t)(native.Handle(e.db)))
}

func (e *engine) hold(path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	errno := syscall.Errno(C.smolwc_holding_add(e.holding, text))
	if errno != 0 && errno != syscall.ENOENT {
		return fmt.Errorf("%w: %s: %w", cf.ErrUnavailable, path, errno)
	}
	return nil
}

func (e *engine) freeHolding() {
	if e.holding != nil {
		C.smolwc_holding_free(e.holding)
	}
}
