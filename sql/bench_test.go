package sql_test

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

// BenchmarkQueries measures queries of a table with 20,000 rows in memory.
func BenchmarkQueries(b *testing.B) {
	const rows = 20_000
	table := schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}, {Name: "n", Type: cells.TypeI64}}}
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{table}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	var keys []string
	var ms []*write.Mutation
	for i := range rows {
		m := write.NewMutation()
		m.SetAt("meta", "model", 1000, cells.Bytes(fmt.Append(nil, "Boeing ", 700+i%8)))
		m.SetAt("n", "seats", 1000, cells.I64(int64(i)))
		keys, ms = append(keys, fmt.Sprintf("plane#%06d", i)), append(ms, m)
	}
	if _, err := db.Table("fleet").ApplyBulk(b.Context(), keys, ms); err != nil {
		b.Fatal(err)
	}
	for _, q := range []struct{ name, text string }{
		{"stream", "SELECT _key, meta['model'], n['seats'] + 1 FROM fleet"},
		{"filter", "SELECT _key FROM fleet WHERE LENGTH(meta['model']) = 10 AND n['seats'] * 2 > 30000"},
		{"constants", "SELECT REGEXP_CONTAINS(CAST(meta['model'] AS STRING), CONCAT('7', '.3')) FROM fleet WHERE n['seats'] + 0 IN (" + strings.TrimSuffix(strings.Repeat("1, 2, 3, ", 100), ", ") + ", 20000 - 1)"},
		{"group", "SELECT meta['model'] AS m, COUNT(*), SUM(n['seats']), AVG(n['seats']) FROM fleet GROUP BY m"},
		{"parts", "SELECT meta['model'] AS m, COUNT(*), SUM(n['seats']), MAX(n['seats']) FROM fleet GROUP BY m"},
		{"sort", "SELECT _key, n['seats'] AS seats FROM fleet ORDER BY seats DESC LIMIT 100"},
		{"pipes", "FROM fleet |> EXTEND n['seats'] AS s |> WHERE s > 100 |> SELECT _key, s, s * 2 AS d |> AGGREGATE SUM(d)"},
		{"lambda", "SELECT ARRAY_LENGTH(ARRAY_FILTER(GENERATE_ARRAY(1, 10), e -> e > n['seats'])) FROM fleet"},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parsed, err := sql.Parse(q.text)
				if err != nil {
					b.Fatal(err)
				}
				none, _ := sql.ParamsOf()
				plan, err := parsed.On(table).Plan(none)
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range plan.Result(b.Context(), sql.Only(db.Table("fleet"))).Rows {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
