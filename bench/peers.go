package main

import "github.com/smolwc/smolwc/internal/bench"

// peers are the engines to compare with besides RocksDB in C: RocksDB in Go, as
// a Go program would use it by hand, and the stores that are written in Go.
var peers = []bench.Peer{
	{Name: "grocksdb", Over: overGrocksdb},
	{Name: "pebble", Open: openPebble},
	{Name: "badger", Open: openBadger},
}
