// Package rocks is the [cf.Store] on RocksDB: one column family of RocksDB for
// each family, the catalog in the default one. It is the only package that
// knows C: grocksdb opens, configures and manages the database, C holds the hot
// loops, and C++ does what RocksDB's C interface cannot. README.md lists what it
// relies on in RocksDB beyond that interface.
//
// A build without cgo has nothing of it but this page.
package rocks
