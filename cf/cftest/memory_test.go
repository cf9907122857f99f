package cftest

import "testing"

// Memory passes the tests of the features that it has. The tests of block sizes and
// costs are not among them.
func TestMemory(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"Families", testFamilies},
		{"Batches", testBatches},
		{"Deletions", testDeletions},
		{"DropRange", testDropRange},
		{"Meta", testMeta},
		{"Snapshots", testSnapshots},
		{"Updates", testUpdates},
		{"HostileKeys", testHostileKeys},
		{"Filters", testFilters},
		{"Ranges", testRanges},
		{"Splits", testSplits},
		{"Shared", testShared},
		{"Contexts", testContexts},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(newFixture(t, func(*testing.T) Harness { return Harness{Store: NewMemory()} }))
		})
	}
}
