//go:build cgo && linux && !norocksdb

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

// MaxInfoLog is the size in bytes above which a LOG becomes LOG.old.
const MaxInfoLog = 4 << 20

// SetInfoLog makes RocksDB write its log to LOG in the database's directory. A long LOG
// becomes LOG.old at the next open. If log is false RocksDB writes none: a database opened
// for reading must not touch the writer's LOG, and for one in memory it would take
// memory.
func SetInfoLog(o *grocksdb.Options, dir string, log bool) {
	path := ""
	if log {
		path = filepath.Join(dir, "LOG")
		if info, err := os.Stat(path); err == nil && info.Size() > MaxInfoLog {
			_ = os.Rename(path, path+".old") // after an error LOG just keeps growing
		}
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	C.smolwc_set_info_log((*C.rocksdb_options_t)(native.Handle(o)), text)
}
