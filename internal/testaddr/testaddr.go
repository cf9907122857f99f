// Package testaddr gives tests the addresses of servers that start later, and start again.
package testaddr

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// Ports from first on, and less than first+count, are given. The system gives them to no
// connection, and to no listener on port 0.
const first, count = 10_000, 20_000

// given counts the ports of this process. Processes that run at the same time begin at
// different ones.
var given atomic.Int64

func init() { given.Store(int64(os.Getpid()) * 97) }

// New is an address of this machine on which nobody listens. It is given once in a process.
func New(t testing.TB) string {
	t.Helper()
	for range count {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+given.Add(1)%count))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatalf("all ports from %d on are taken", first)
	return ""
}
