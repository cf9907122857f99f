// Package rocks is the [cf.Store] on RocksDB. Each family is a column family of RocksDB;
// the catalog is in the default one. grocksdb opens, configures and manages the
// database. The packages below internal have the C of the hot loops, and the C++ for
// what RocksDB's C interface lacks; no other package of the library knows C. README.md
// lists what they rely on in RocksDB beyond that interface.
//
// A build without cgo leaves the package empty.
package rocks
