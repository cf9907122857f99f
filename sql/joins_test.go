package sql_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	reads "github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// several is a database with several tables.
type several struct {
	t  testing.TB
	db *query.DB
}

func openSeveral(t testing.TB, tables ...schema.Table) *several {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: tables}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &several{t, db}
}

// put writes a row: its key, and then family:qualifier=value.
func (m *several) put(table, key string, values ...string) {
	of := write.NewMutation()
	for _, v := range values {
		column, text, _ := strings.Cut(v, "=")
		family, qualifier, _ := strings.Cut(column, ":")
		declared, _ := m.db.Schema().Table(table)
		var value cells.Value
		switch f, _ := declared.Family(family); f.Type {
		case cells.TypeI64:
			var n int64
			if _, err := fmt.Sscan(text, &n); err != nil {
				m.t.Fatal(err)
			}
			value = cells.I64(n)
		case cells.TypeF64:
			var n float64
			if _, err := fmt.Sscan(text, &n); err != nil {
				m.t.Fatal(err)
			}
			value = cells.F64(n)
		case cells.TypeString:
			value = cells.String(text)
		default:
			value = cells.Bytes([]byte(text))
		}
		of.SetAt(family, qualifier, 1000, value)
	}
	if err := m.db.Table(table).Apply(context.Background(), key, of); err != nil {
		m.t.Fatal(err)
	}
}

// plan is a query without parameters.
func (m *several) plan(text string) (*sql.Plan, error) {
	q, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, name := range q.Tables() {
		declared, ok := m.db.Schema().Table(name)
		if !ok {
			return nil, q.TableNotFound(name, []string{"a", "b", "c", "d", "fleet", "flights"})
		}
		q = q.Of(name, sql.Source{Table: *declared})
	}
	none, err := sql.ParamsOf()
	if err != nil {
		return nil, err
	}
	return q.Plan(none)
}

func (m *several) tables(name string) sql.Table { return m.db.Table(name) }

// run is the result of a query: a line for each row.
func (m *several) run(ctx context.Context, text string) (lines []string, err error) {
	p, err := m.plan(text)
	if err != nil {
		return nil, err
	}
	columns := p.Columns()
	for values, err := range p.Result(ctx, m.tables).Rows {
		if err != nil {
			return nil, err
		}
		var texts []string
		for i, v := range values {
			texts = append(texts, textOf(columns[i].Type, v))
		}
		lines = append(lines, strings.Join(texts, " "))
	}
	return lines, nil
}

func openFleet(t testing.TB) *several {
	m := openSeveral(t,
		schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta", Type: cells.TypeString}, {Name: "n", Type: cells.TypeI64}}},
		schema.Table{Name: "flights", Families: []schema.Family{{Name: "f", Type: cells.TypeString}, {Name: "n", Type: cells.TypeI64}}})
	m.put("fleet", "TF-FIA", "meta:model=757", "n:seats=183")
	m.put("fleet", "TF-FIR", "meta:model=767", "n:seats=262")
	m.put("fleet", "TF-ISF", "meta:model=757")
	m.put("flights", "FI318", "f:plane=TF-FIA", "f:route=KEF-OSL", "n:delay=5")
	m.put("flights", "FI450", "f:plane=TF-FIA", "f:route=KEF-LHR", "n:delay=183")
	m.put("flights", "FI500", "f:plane=TF-FIR", "f:route=KEF-AMS")
	m.put("flights", "FI901", "f:route=KEF-AEY")
	m.put("flights", "FI902", "f:plane=TF-GONE", "f:route=KEF-EGS", "n:delay=7")
	return m
}

// Joins, queries in queries, and UNION and its like: each file has queries and their results.
// -update writes the results.
func TestJoins(t *testing.T) {
	files, err := filepath.Glob("testdata/joins/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	m := openFleet(t)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var made []string
			for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
				query, _, _ := strings.Cut(block, "\n----")
				lines, err := m.run(t.Context(), query)
				if err != nil {
					lines = []string{"error: " + err.Error()}
				}
				made = append(made, strings.Join(append([]string{query, "----"}, lines...), "\n"))
			}
			want := strings.Join(made, "\n\n") + "\n"
			if *update {
				if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want == string(text) {
				return
			}
			old := strings.Split(string(text), "\n\n")
			for i, block := range made {
				if i >= len(old) || strings.TrimSpace(old[i]) != block {
					t.Errorf("it is\n%s\nand was\n%s", block, old[min(i, len(old)-1)])
				}
			}
		})
	}
}

// A join that does not fit into memory has the same rows, and leaves no file.
func TestJoiningOnDisk(t *testing.T) {
	m := openSeveral(t,
		schema.Table{Name: "a", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}},
		schema.Table{Name: "b", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}})
	fill(m, "a", 1_200, 70)
	fill(m, "b", 300, 65)
	for _, kind := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"} {
		text := "SELECT a._key, b._key, a.n['i'] FROM a " + kind + " b ON a.n['k'] = b.n['k'] AND a.n['i'] != b.n['i']"
		want, err := m.run(t.Context(), text)
		if err != nil || len(want) < 1000 {
			t.Fatalf("%s: %d rows, %v", text, len(want), err)
		}
		slices.Sort(want)
		for _, memory := range []int{1, 20_000} {
			t.Run("", func(t *testing.T) {
				dir := t.TempDir()
				sql.SortIn(t, memory, 1<<30, dir)
				sql.HoldLeft(100)
				got, err := m.run(t.Context(), text)
				slices.Sort(got)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: with %d bytes of memory it has %d rows, %v; in memory %d", text, memory, len(got), err, len(want))
				}
				isEmpty(t, dir)
			})
		}
	}
}

// fill writes rows with the numbers n:i, and n:k below a bound; each tenth row has no n:k.
func fill(m *several, table string, rows, keys int) {
	var names []string
	var ms []*write.Mutation
	for i := range rows {
		of := write.NewMutation()
		of.SetAt("n", "i", 1000, cells.I64(int64(i)))
		if i%10 > 0 {
			of.SetAt("n", "k", 1000, cells.I64(int64(i*7%keys)))
		}
		names, ms = append(names, fmt.Sprintf("%s%06d", table, i)), append(ms, of)
	}
	if _, err := m.db.Table(table).ApplyBulk(context.Background(), names, ms); err != nil {
		m.t.Fatal(err)
	}
}

// manyRows is a table of many rows, in one part.
type manyRows struct{ rows int }

func (n manyRows) ReadRows(ctx context.Context, _ ...reads.Option) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		for i := range n.rows {
			if !yield(query.NewRow(fmt.Sprintf("row %07d", i), []cells.Cell{{Family: "n", Qualifier: "i", Timestamp: 1, Value: cells.I64(int64(i))}, {Family: "n", Qualifier: "k", Timestamp: 1, Value: cells.I64(int64(i % 3))}}), nil) {
				return
			}
		}
	}
}

func (n manyRows) ReadPartsParallel(ctx context.Context, _ int, fn func(context.Context, int, iter.Seq2[*query.Row, error]) error, _ ...reads.Option) error {
	return fn(ctx, 0, n.ReadRows(ctx))
}

// joinNumbers runs a query of the tables a and b, which have many rows, and counts its rows.
func joinNumbers(ctx context.Context, t *testing.T, rows int, text string) (n int, err error) {
	m := &several{t: t}
	table := func(name string) schema.Table {
		return schema.Table{Name: name, Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}}
	}
	q, err := sql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range q.Tables() {
		q = q.Of(name, sql.Source{Table: table(name)})
	}
	none, _ := sql.ParamsOf()
	p, err := q.Plan(none)
	if err != nil {
		m.t.Fatal(err)
	}
	err = p.Run(ctx, func(string) sql.Table { return manyRows{rows} }, func([]any) error { n++; return nil })
	return n, err
}

// A join of large tables without an equality ends: with its deadline, at its bound of pairs, or
// at its bound of memory. So does one whose pairs are many, in memory and on disk.
func TestLargeJoinsEnd(t *testing.T) {
	const cross = "SELECT COUNT(*) FROM a, b WHERE a.n['i'] + b.n['i'] < 0"
	const frequent = "SELECT COUNT(*) FROM a JOIN b ON a.n['k'] = b.n['k']"
	for _, text := range []string{cross, frequent, "SELECT a._key FROM a FULL JOIN b ON a.n['k'] = b.n['k'] AND a.n['i'] + b.n['i'] < 0 ORDER BY 1"} {
		for _, memory := range []int{100_000, 1 << 30} {
			t.Run("", func(t *testing.T) {
				dir := t.TempDir()
				sql.SortIn(t, memory, 1<<30, dir)
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				began := time.Now()
				_, err := joinNumbers(ctx, t, 30_000, text)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", text, err)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%s: ends after %v", text, took)
				}
				isEmpty(t, dir)
			})
		}
	}
	sql.SortIn(t, 1<<20, 1<<30, t.TempDir())
	sql.ComparePairs(1_000_000)
	if _, err := joinNumbers(t.Context(), t, 1_001, "SELECT COUNT(*) FROM a, b WHERE a.n['i'] + b.n['i'] = -1"); err == nil || !strings.Contains(err.Error(), "1000000 pairs") {
		t.Errorf("a join of too many pairs: %v", err)
	}
	if _, err := joinNumbers(cf.WithHolding(t.Context(), new(little)), t, 30_000, cross); !errors.Is(err, errFull) {
		t.Errorf("a join without room: %v", err)
	}
	n, err := joinNumbers(t.Context(), t, 30_000, "SELECT a._key FROM a CROSS JOIN b LIMIT 5")
	if n != 5 || err != nil {
		t.Errorf("a LIMIT of many pairs: %d rows, %v", n, err)
	}
}

// A query as a value runs once, and not where its value is not needed.
func TestQueriesAsValuesRunOnce(t *testing.T) {
	text := "SELECT IF(n['i'] < 0, (SELECT 1 / 0), 1), (SELECT MAX(n['i']) FROM b), n['i'] IN (SELECT n['i'] FROM b) FROM a"
	if n, err := joinNumbers(t.Context(), t, 3_000, text); n != 3_000 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// WITH that names itself many times over is refused, and not computed.
func TestManyPlansAreRefused(t *testing.T) {
	text := "WITH a0 AS (SELECT 1 AS x)"
	for i := range 30 {
		text += fmt.Sprintf(", a%d AS (SELECT * FROM a%d UNION ALL SELECT * FROM a%d)", i+1, i, i)
	}
	db := openPlanes(t)
	if _, err := db.run(text + " SELECT COUNT(*) FROM a30"); err == nil || !strings.Contains(err.Error(), "up to 200 tables") {
		t.Errorf("it has the error %v", err)
	}
}
