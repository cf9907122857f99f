//go:build linux

package sql_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// BenchmarkJoins measures joins and groups of 1,000,000 rows with 10,000.
func BenchmarkJoins(b *testing.B) {
	m := openSeveral(b,
		schema.Table{Name: "flights", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}, {Name: "f"}}},
		schema.Table{Name: "fleet", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}})
	fill := func(table string, digits, rows int, set func(i int, of *write.Mutation)) {
		for from := 0; from < rows; from += 10_000 {
			var keys []string
			var ms []*write.Mutation
			for i := from; i < from+10_000; i++ {
				of := write.NewMutation()
				set(i, of)
				keys, ms = append(keys, fmt.Sprintf("%s#%0*d", table, digits, i)), append(ms, of)
			}
			if _, err := m.db.Table(table).ApplyBulk(context.Background(), keys, ms); err != nil {
				b.Fatal(err)
			}
		}
	}
	fill("fleet", 6, 10_000, func(i int, of *write.Mutation) { of.SetAt("n", "seats", 1000, cells.I64(int64(i%400))) })
	fill("flights", 7, 1_000_000, func(i int, of *write.Mutation) {
		of.SetAt("n", "delay", 1000, cells.I64(int64(i*7%300)))
		of.SetAt("f", "plane", 1000, cells.Bytes(fmt.Appendf(nil, "fleet#%06d", i*13%12_000)))
	})
	for _, q := range []struct{ name, text string }{
		{"scan", "SELECT SUM(d), COUNT(p) FROM (SELECT n['delay'] AS d, f['plane'] AS p FROM flights LIMIT 1000000)"},
		{"sum", "SELECT SUM(n['delay']), COUNT(n['delay']) FROM flights"},
		{"join", "SELECT SUM(f.n['delay']), SUM(p.n['seats']) FROM flights AS f JOIN fleet AS p ON f.f['plane'] = p._key"},
		{"group", "SELECT p.n['seats'] AS seats, COUNT(*), SUM(f.n['delay']) FROM flights AS f JOIN fleet AS p ON f.f['plane'] = p._key GROUP BY seats"},
		{"groups", "SELECT n['delay'] AS delay, COUNT(*), SUM(n['delay']), COUNT(f['plane']) FROM flights GROUP BY delay"},
		{"lookup", "SELECT SUM(f.n['delay']), SUM(p.n['seats']) FROM flights AS f JOIN fleet AS p ON f.f['plane'] = p._key WHERE f._key < 'flights#0001000'"},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportProcessTime(b, processTime(b))
			for b.Loop() {
				if _, err := m.run(b.Context(), q.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
