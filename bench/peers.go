package main

import "github.com/smolwc/smolwc/internal/bench"

var peers = []bench.Peer{
	{Name: "grocksdb", Over: overGrocksdb},
}
