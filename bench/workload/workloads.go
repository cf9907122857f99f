package workload

import "slices"

// Workloads are all workloads on data made for them.
func Workloads() []Workload {
	return slices.Concat(scans(), counts(), gets(), writes(), bulk(), imports(), ycsb(), sessions())
}
