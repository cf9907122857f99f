package server_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server"
)

var groupRows = flag.Int("groups.rows", 0, "measure a query with groups over `N` rows, beside a client that counts them")

// TestGroupsBesideAClient measures a query that counts the rows of groups, beside a client
// that reads the rows and counts them itself: in rounds, in which they take turns.
func TestGroupsBesideAClient(t *testing.T) {
	if *groupRows == 0 {
		t.Skip("-groups.rows 1000000 runs it")
	}
	db, err := query.Open(filepath.Join(t.TempDir(), "db"), query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, db, server.Options{})
	defer func() { r.stop(); r.must(db.Close()) }()
	r.table("t", "fam")
	stored := db.Schema().Tables[0].Name // by the name of its instance
	random := rand.New(rand.NewPCG(1, 2))
	load, err := db.Table(stored).BulkLoad(r.ctx(), query.BulkOptions{})
	r.must(err)
	for i := range *groupRows {
		m := write.NewMutation()
		m.SetAt("fam", "c", 1, cells.Bytes(fmt.Appendf(nil, "kind%02d", random.IntN(50))))
		m.SetAt("fam", "d", 1, cells.Bytes(fmt.Appendf(nil, "%085x", random.Uint64())))
		r.must(load.Apply(fmt.Sprintf("row%08d", i), m))
	}
	_, err = load.Commit(r.ctx())
	r.must(err)
	r.must(load.Close())
	client := r.client()
	scan := func(filter bigtable.Filter) func() {
		return func() {
			groups := map[string]int{}
			r.must(client.Open("t").ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
				for _, item := range row["fam"] {
					if item.Column == "fam:c" {
						groups[string(item.Value)]++
					}
				}
				return true
			}, bigtable.RowFilter(filter)))
		}
	}
	ways := []struct {
		what string
		run  func()
	}{
		{"the query", func() {
			_, err := r.query(client, "SELECT fam['c'], COUNT(*) FROM t GROUP BY fam['c']", nil, nil)
			r.must(err)
		}},
		{"a client that reads the column", scan(bigtable.ChainFilters(bigtable.ColumnFilter("c"), bigtable.LatestNFilter(1)))},
		{"a client that reads rows", scan(bigtable.LatestNFilter(1))},
	}
	var took, used [3][]float64
	for round := range 8 {
		for i, way := range ways {
			began, before := time.Now(), processorTime(t)
			way.run()
			if round > 0 { // the first round warms up
				took[i], used[i] = append(took[i], time.Since(began).Seconds()), append(used[i], (processorTime(t)-before).Seconds())
			}
		}
	}
	for i, way := range ways {
		t.Logf("%s: %.2f s, %.2f s of processor; as a multiple of the query: %.1f, %.1f", way.what, median(took[i]), median(used[i]), median(took[i])/median(took[0]), median(used[i])/median(used[0]))
	}
}
