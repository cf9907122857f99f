// Package cftest is a conformance suite for [cf.Store]. The test of a store calls it:
//
//	func TestStore(t *testing.T) {
//		cftest.Run(t, func(t *testing.T) cftest.Harness {
//			return cftest.Harness{Store: mystore.Open(t.TempDir())}
//		})
//	}
//
// Its subtests check the promises in the documentation of package cf one by one. The
// last subtest, Model, compares the store with a [Model] under random operations;
// -rapid.checks sets their number, and a failure prints the seed that repeats it.
package cftest

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A Harness is a store under test.
type Harness struct {
	// Store is open and without families. The suite closes it.
	Store cf.Store
	// Reopen opens the data of a closed store again. It is nil when closing a store
	// loses the data.
	Reopen func(closed cf.Store) cf.Store
}

// Run tests stores. Each subtest calls open for a store of its own, whose data may be
// in the subtest's TempDir.
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
		{"ReverseToTheEmptyRow", testReverseToTheEmptyRow},
		{"CutBeforeABegunRow", testCutBeforeABegunRow},
		{"ScansOverTombstones", testScansOverTombstones},
		{"Blocks", testBlocks},
		{"Costs", testCosts},
		{"Splits", testSplits},
		{"Changes", testChanges},
		{"TrimmedChanges", testTrimmedChanges},
		{"Shared", testShared},
		{"Contexts", testContexts},
		{"Reopening", testReopening},
		{"EndingWaits", testEndingWaits},
		{"Closed", testClosed},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newFixture(t, open)) })
	}
	t.Run("Model", func(t *testing.T) { testModel(t, open) })
}
