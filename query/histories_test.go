package query_test

import (
	"errors"
	"os"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/schema"
)

func TestHistoriesMatchTheModel(t *testing.T) { querytest.Histories(t, places(t, query.Open)) }

// Files of a few cells have boundaries within columns.
func TestWhatIsVisibleDoesNotDependOnWhatIsRemoved(t *testing.T) {
	querytest.Retention(t, places(t, query.OpenTiny))
}

func TestWaysToReadAgree(t *testing.T)  { querytest.WaysToRead(t, places(t, query.Open)) }
func TestMarksAreFollowed(t *testing.T) { querytest.Marks(t, places(t, query.Open)) }

func TestAggregatesAgainstAModel(t *testing.T) { querytest.Aggregates(t, places(t, query.Open)) }

// A copy beside writes, interrupted and continued, becomes equal to its source.
func TestCopiesBecomeEqual(t *testing.T) {
	querytest.Copies(t, places(t, query.Open), places(t, query.Open), true)
}

func TestOperationsAreLinearizable(t *testing.T) {
	querytest.Linearizability(t, openMemory(t, querytest.LinearSchema()))
}

// What was prepared under a version of the schema is not written under another one.
func TestWritesUnderAVersionOfTheSchema(t *testing.T) {
	db := openMemory(t, &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}})
	querytest.UnderASchema(t, db, db)
}

// places gives directories for databases of one history each.
func places(t *testing.T, open func(string, query.Options) (*query.DB, error)) func() querytest.Place {
	return func() querytest.Place {
		dir, err := os.MkdirTemp(memoryDir(), "smolwc-history-")
		must(t, err)
		return querytest.Place{
			Open: func(o query.Options) (*query.DB, error) {
				o.Durability, o.Memory = query.DurabilityAsync, 16<<20
				return open(dir, o)
			},
			Remove: func() { os.RemoveAll(dir) },
		}
	}
}

// memoryDir is a place for many short-lived databases: memory where the system
// offers it as a directory, otherwise the place for temporary files.
func memoryDir() string {
	const shm = "/dev/shm"
	f, err := os.CreateTemp(shm, "smolwc-probe-")
	if err != nil {
		return ""
	}
	if errors.Join(f.Close(), os.Remove(f.Name())) != nil {
		return ""
	}
	return shm
}

func TestDeletedTablesComeBack(t *testing.T) { querytest.DeletedTables(t, places(t, query.Open)) }

func TestWhyMatchesTheModel(t *testing.T) { querytest.Whys(t, places(t, query.Open)) }
