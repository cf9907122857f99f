// Package cftest is the suite that every [cf.Store] has to pass. The test of a store
// calls it:
//
//	func TestStore(t *testing.T) {
//		cftest.Run(t, func(t *testing.T) cftest.Harness {
//			return cftest.Harness{Store: mystore.Open(t.TempDir())}
//		})
//	}
//
// Its subtests follow the promises in the documentation of package cf, one by
// one; the last, Model, compares the store with a [Model] under random
// operations. Raise -rapid.checks to let that run longer; a failure prints the
// seed that repeats it.
package cftest

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A Harness is a store under test.
type Harness struct {
	// Store is open and has no families. The suite closes it.
	Store cf.Store
	// Reopen opens again the data of a store that the suite has closed. It is nil when
	// closing a store loses the data.
	Reopen func(closed cf.Store) cf.Store
}

// Run tests the stores that open makes, each for one subtest. Their data may
// lie in the subtest's TempDir.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"Families", testFamilies},
		{"Batches", testBatches},
		{"Deletions", testDeletions},
		{"DropRange", testDropRange},
		{"Expiry", testExpiry},
		{"Meta", testMeta},
		{"Snapshots", testSnapshots},
		{"Updates", testUpdates},
		{"Transactions", testTransactions},
		{"Ingest", testIngest},
		{"HostileKeys", testHostileKeys},
		{"Filters", testFilters},
		{"Ranges", testRanges},
		{"Blocks", testBlocks},
		{"Costs", testCosts},
		{"Splits", testSplits},
		{"Changes", testChanges},
		{"TrimmedChanges", testTrimmedChanges},
		{"Contexts", testContexts},
		{"Reopening", testReopening},
		{"EndingWaits", testEndingWaits},
		{"Closed", testClosed},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newFixture(t, open)) })
	}
	t.Run("Model", func(t *testing.T) { testModel(t, open) })
}
