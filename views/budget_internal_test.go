package views

import (
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// A query with many reads is judged by reading about its budget once, not once for each of them.
func TestJudgingReadsAboutTheBudgetOnce(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var keys []string
	var ms []*write.Mutation
	m := write.NewMutation()
	m.Set("f", "x", cells.String("value"))
	for i := range 10_000 {
		keys, ms = append(keys, fmt.Sprintf("k%05d", i)), append(ms, m)
	}
	if _, err := db.Table("t").ApplyBulk(t.Context(), keys, ms); err != nil {
		t.Fatal(err)
	}
	v := Of(db)
	judged := func(text string, b sql.Budget) (estimate, read sql.Amount) {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		st, plan, err := v.planned(t.Context(), q, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		j := judging{budget: b}
		if estimate, err = v.estimate(t.Context(), st, plan, &j); err != nil {
			t.Fatal(err)
		}
		return estimate, j.read
	}
	part := "SELECT _key FROM t WHERE _key > 'k01'"
	budget := sql.Budget{Rows: 2000, Bytes: 1 << 20}
	if estimate, read := judged(part, budget); !budget.Over(estimate) || read.Rows < 2000 {
		t.Errorf("one read: %v by reading %v", estimate, read)
	}
	estimate, read := judged(part+strings.Repeat(" UNION ALL "+part, 50), budget)
	if !budget.Over(estimate) || estimate.Rows < 50*4000 {
		t.Errorf("51 reads have the estimate %v", estimate)
	}
	if most := budget.Rows + 17*sampledRows + 51*5; read.Rows > most {
		t.Errorf("51 reads are judged by reading %v; want %d rows at most", read, most)
	}
}
