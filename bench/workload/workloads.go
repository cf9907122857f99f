// Package workload defines the workloads: reads and writes by smolwc as its users do
// them; the same work on the same data in plain C over RocksDB, package yardstick; and
// the same over engines that the caller provides, as [Peer]s.
package workload

import (
	"slices"

	"github.com/smolwc/smolwc/bench/contest"
)

// Workloads returns all workloads on generated data.
func (e *Env) Workloads() []contest.Workload {
	return slices.Concat(e.scans(), e.counts(), e.gets(), e.writes(), e.larges(), e.opens(), e.bulk(), e.imports(), e.ycsb(), e.sessions(), e.latencies())
}
