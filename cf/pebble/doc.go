// Package pebble is a [cf.Store] on Pebble, an engine in Go: it needs no cgo.
//
// All families are in one Pebble database. A key is four bytes, the number of the family,
// and then the physical key of package cf. Numbers are never used again: to drop a family
// takes one batch, which removes its name and deletes the range of its keys.
//
// No fault of a disk ends the process. An error that passes heals without a new open; any
// other makes each call fail with an error that says that the database must be opened
// again.
package pebble
