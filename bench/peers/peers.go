// Package peers contains the engines to compare with, besides RocksDB in C: RocksDB in
// Go, as a Go program would use it by hand, and stores written in Go.
package peers

import "github.com/smolwc/smolwc/bench/workload"

// All returns every peer.
func All() []workload.Peer {
	return []workload.Peer{
		{Name: "grocksdb", Over: overGrocksdb},
		{Name: "pebble", Open: openPebble},
		{Name: "badger", Open: openBadger, Empties: true},
	}
}
