// Package rocks is the [cf.Store] on RocksDB: one column family of RocksDB for
// each family, the catalog in the default one. It is the only package that
// knows C: grocksdb opens, configures and manages the database, and a small C
// file holds the hot loops.
//
// A build without cgo has nothing of it but this page.
package rocks
