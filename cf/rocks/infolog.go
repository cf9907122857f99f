package rocks

// #cgo CXXFLAGS: -O2 -Wall -Wextra -std=c++20 -fno-rtti
// #include <stdlib.h>
// #include "infolog.h"
import "C"

import (
	"os"
	"path/filepath"
	"unsafe"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// setInfoLog has RocksDB keep its log in the database's directory, in LOG, and
// in LOG.old what was there before the last time that it had grown long. A
// database that is opened for reading alone writes none: the log is the writer's.
func (e *engine) setInfoLog(dir string, readOnly bool) {
	path := filepath.Join(dir, "LOG")
	if info, err := os.Stat(path); err == nil && info.Size() > maxInfoLog && !readOnly {
		_ = os.Rename(path, path+".old") // else it grows on
	}
	if readOnly {
		path = ""
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	C.smolwc_set_info_log((*C.rocksdb_options_t)(native.Handle(e.db)), text)
}
