// Package engine opens the engines below a database: Pebble, and RocksDB in builds that
// have it, those for Linux with cgo and without the tag norocksdb.
package engine
