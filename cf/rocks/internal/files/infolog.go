package files

// #include <stdlib.h>
// #include "infolog.h"
import "C"

import (
	"os"
	"path/filepath"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// MaxInfoLog is the size of a LOG, in bytes, that becomes LOG.old.
const MaxInfoLog = 4 << 20

// SetInfoLog has RocksDB keep its log in the database's directory, in LOG, and
// in LOG.old what was there before the last time that it had grown long. A
// database that is opened for reading alone writes none: the log is the writer's.
func SetInfoLog(o *grocksdb.Options, dir string, readOnly bool) {
	path := filepath.Join(dir, "LOG")
	if info, err := os.Stat(path); err == nil && info.Size() > MaxInfoLog && !readOnly {
		_ = os.Rename(path, path+".old") // else it grows on
	}
	if readOnly {
		path = ""
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	C.smolwc_set_info_log((*C.rocksdb_options_t)(native.Handle(o)), text)
}
