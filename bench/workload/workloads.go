// Package workload has the workloads: reads and writes by smolwc as its users do
// them; the same on the same data in plain C over RocksDB, package yardstick; and
// the same over engines that the caller brings, as [Peer]s.
package workload

import (
	"slices"

	"github.com/smolwc/smolwc/bench/contest"
)

// Workloads are all workloads on data made for them.
func (e *Env) Workloads() []contest.Workload {
	return slices.Concat(e.scans(), e.counts(), e.gets(), e.writes(), e.bulk(), e.imports(), e.ycsb(), e.sessions())
}
