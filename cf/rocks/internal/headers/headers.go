//go:build cgo && linux && !norocksdb

// Package headers does not compile where RocksDB's headers are missing, and says what to do.
// The errors of the packages that need the headers say nothing of it.
package headers

// #if !__has_include(<rocksdb/c.h>)
// #error "smolwc: RocksDB is not installed here. Build without it, with -tags norocksdb or CGO_ENABLED=0: databases are on Pebble then. Or install it: librocksdb-dev on Debian, rocksdb-devel on Fedora"
// #endif
import "C"
