package cftest

import "testing"

// Memory keeps the promises of the parts that it has. Its blocks have any size, and its
// reads look at everything.
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
		{"Contexts", testContexts},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(newFixture(t, func(*testing.T) Harness { return Harness{Store: NewMemory()} }))
		})
	}
}
