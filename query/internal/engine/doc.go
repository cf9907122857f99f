// Package engine opens RocksDB, in builds that have it: those with cgo.
package engine
