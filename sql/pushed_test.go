package sql_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	reads "github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// EXPLAIN shows the conditions and limits that the store judges.
func TestExplainShowsWhatTheStoreJudges(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ where, want string }{
		{"n['i'] = 2", "n:i == 2"},
		{"3 > n['i'] AND _key < 'x'", "n:i < 3"},
		{"n['i'] BETWEEN 1 AND 5", "n:i >= 1\n  where n:i <= 5"},
		{"n['i'] IN (1, 2, 3)", "n:i in (1, 2, 3)"},
		{"n['i'] < 1 OR n['i'] = 4 OR n['i'] = 6", "(n:i < 1 or n:i in (4, 6))"},
		{"n['i'] = 1 AND LENGTH(f['model']) > 2", "n:i == 1"},
		{"f['model'] = '757'", `f:model in ("757", 757)`},
		{"f['model'] = 'long enough'", `f:model in ("long enough", long enough)`},
		{"f['model'] = '12345678'", ""}, // it may be a number
		{"f['model'] > 'aaa'", ""},
		{"n['i'] = 1 OR n['j'] = 1", ""},
		{"n['i'] != 1", ""},
		{"NOT n['i'] = 1", ""},
		{"n['i'] = NULL", ""},
		{"n['i'] = n['j']", ""},
	} {
		got, err := db.run("EXPLAIN SELECT _key FROM t WHERE " + q.where)
		if err != nil {
			t.Fatalf("%s: %v", q.where, err)
		}
		_, judged, _ := strings.Cut(got, "\n  where ")
		judged, _, _ = strings.Cut(judged, "\nfilter rows")
		if judged != q.want {
			t.Errorf("%s: the store judges %q, want %q, in\n%s", q.where, judged, q.want, got)
		}
	}
	if got, err := db.run("EXPLAIN SELECT _key FROM t(as_of => TIMESTAMP '2020-01-01') WHERE n['i'] = 2"); err != nil || strings.Contains(got, "where") {
		t.Errorf("of the past: %s, %v", got, err)
	}
	for text, limits := range map[string]bool{
		"SELECT * FROM t LIMIT 2":                           true,
		"SELECT * FROM t ORDER BY _key DESC LIMIT 2":        true,
		"SELECT * FROM t WHERE n['i'] = 2 LIMIT 2":          false,
		"SELECT n['i'], COUNT(*) FROM t GROUP BY 1 LIMIT 2": false,
		"SELECT * FROM t ORDER BY n['i'] LIMIT 2":           false,
	} {
		if got, err := db.run("EXPLAIN " + text); err != nil || strings.Contains(got, "as many rows as") != limits {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// Sums and their like of the whole table read their columns alone, unless a row without them
// matters.
func TestSumsReadTheirColumnsAlone(t *testing.T) {
	db := openPlanes(t)
	for text, alone := range map[string]bool{
		"SELECT SUM(n['i']) FROM t":                                         true,
		"SELECT COUNT(n['i']), MAX(f['model']) FROM t":                      true,
		"SELECT AVG(n['i'] * 2) FROM t HAVING COUNT(n['i']) > 0":            true,
		"SELECT SUM(n['i']) FROM t WHERE _key > 'a'":                        true,
		"FROM t |> AGGREGATE COUNTIF(n['i'] > 1)":                           true,
		"SELECT (SELECT SUM(n['i']) FROM t)":                                true,
		"SELECT SUM(n['i']), COUNT(*) FROM t":                               false,
		"SELECT SUM(n['i']), COUNT(_key) FROM t":                            false,
		"SELECT SUM(IFNULL(n['i'], 1)) FROM t":                              false,
		"SELECT ARRAY_AGG(n['i']) FROM t":                                   false,
		"SELECT SUM(n['i']) FROM t GROUP BY f['model']":                     false,
		"SELECT SUM(n['i']) FROM t GROUP BY ROLLUP(f['model'])":             false,
		"FROM t |> LIMIT 2 |> AGGREGATE SUM(n['i'])":                        false,
		"SELECT SUM(v) FROM (SELECT n['i'] AS v FROM t LIMIT 2)":            false,
		"SELECT SUM(n['i']) FROM t, UNNEST([1, 2])":                         false,
		"SELECT COUNT(a.n['i']) FROM t AS a JOIN t AS b ON a._key = b._key": false,
	} {
		if got, err := db.run("EXPLAIN " + text); err != nil || strings.Contains(got, "which rows have other cells") == alone {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// A condition that a row without the columns cannot satisfy lets the query read these alone.
func TestConditionsOnCellsReadTheirColumnsAlone(t *testing.T) {
	db := openPlanes(t)
	for where, alone := range map[string]bool{
		"n['i'] IS NOT NULL":                     true,
		"NOT n['i'] IS NULL":                     true,
		"n['i'] + 1 IS NOT NULL AND _key > 'a'":  true,
		"(n['i'] > 1) IS TRUE":                   true,
		"(n['i'] IS NOT NULL) IS TRUE":           true,
		"(n['i'] > 1) IS FALSE":                  true,
		"n['i'] IS NULL":                         false,
		"NOT n['i'] IS NOT NULL":                 false,
		"(n['i'] IS NOT NULL) IS FALSE":          false,
		"(n['i'] > 1) IS NOT TRUE":               false,
		"IFNULL(n['i'], 0) IS NOT NULL":          false,
		"n IS NOT NULL":                          false,
		"n['i'] IS NOT NULL OR _key IS NOT NULL": false,
	} {
		if got, err := db.run("EXPLAIN SELECT n['i'], COUNT(*) FROM t WHERE " + where + " GROUP BY 1"); err != nil || strings.Contains(got, "which rows have other cells") == alone {
			t.Errorf("%s: %s, %v", where, got, err)
		}
	}
}

// A side of a join whose rows do not stay without a partner reads only its columns, if a row
// without these has no key.
func TestSidesOfJoinsReadTheirColumnsAlone(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct {
		join   string
		others int // sides that look for rows without the columns
		rows   string
	}{
		{"JOIN t AS b ON a.g['even'] = b.g['even']", 0, "9"},
		{"CROSS JOIN t AS b WHERE a.g['even'] = b.g['even']", 0, "9"},
		{"LEFT JOIN t AS b ON a.g['even'] = b.g['even']", 1, "12"},
		{"RIGHT JOIN t AS b ON a.g['even'] = b.g['even']", 1, "12"},
		{"FULL JOIN t AS b ON a.g['even'] = b.g['even']", 2, "15"},
		{"JOIN t AS b ON a.f['model'] = b.f['model'] LEFT JOIN t AS c ON c.g['even'] = b.g['even']", 0, "12"},
		{"JOIN t AS b ON a._key = b._key AND a.n['i'] IS NULL", 1, "3"},
		{"JOIN t AS b ON IFNULL(a.g['even'], b'yes') = b.g['even']", 1, "18"},
	} {
		text := "SELECT COUNT(*) FROM t AS a " + q.join
		got, err := db.run("EXPLAIN " + text)
		if n := strings.Count(got, "which rows have other cells"); n != q.others || err != nil {
			t.Errorf("%s: %d sides, want %d: %s, %v", text, n, q.others, got, err)
		}
		if got, err := db.run(text); got != q.rows || err != nil {
			t.Errorf("%s: %s, %v, want %s", text, got, err, q.rows)
		}
	}
}

// A comparison with NULL holds in no row, also where a family declares no type.
func TestComparisonsWithNullHoldNowhere(t *testing.T) {
	db := openPlanes(t)
	for where, want := range map[string]string{
		"f['model'] = NULL":                                       "0",
		"f['model'] IN (b'757', NULL)":                            "1",
		"f['model'] = b'757' OR f['model'] = CAST(NULL AS BYTES)": "1",
		"f['model'] BETWEEN b'757' AND NULL":                      "0",
		"NULL = n['i']":                                           "0",
	} {
		got, err := db.run("SELECT COUNT(*) FROM t WHERE " + where)
		if err != nil || strings.TrimSpace(got) != want {
			t.Errorf("%s: %q, %v, want %s", where, got, err, want)
		}
	}
}

// unaided reads whole rows, one after another, without the conditions.
type unaided struct{ *query.Table }

func (u unaided) ReadRows(ctx context.Context, opts ...reads.Option) iter.Seq2[*query.Row, error] {
	asked, err := reads.New(opts...)
	if err != nil {
		return func(yield func(*query.Row, error) bool) { yield(nil, err) }
	}
	plain := *asked
	plain.Where, plain.Lend, plain.Columns, plain.KeysOnly, plain.EveryRow = nil, false, nil, false, false
	return u.Table.ReadRows(ctx, &plain)
}

func (u unaided) ReadPartsParallel(ctx context.Context, _ int, fn func(context.Context, int, iter.Seq2[*query.Row, error]) error, opts ...reads.Option) error {
	return fn(ctx, 0, u.ReadRows(ctx, opts...))
}

// What the store judges, the columns that are read, and the parts of a table do not change
// a result.
func TestQueriesAreThoseOfWholeRows(t *testing.T) {
	declared := schema.Table{Name: "t", Families: []schema.Family{{Name: "any"}, {Name: "b", Type: cells.TypeBytes},
		{Name: "s", Type: cells.TypeString}, {Name: "i", Type: cells.TypeI64}, {Name: "j", Type: cells.TypeI32}}}
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{declared}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	words := []string{"", "a", "ab", "abc", "b", "\x00\x00\x00\x00\x00\x00\x00\x05", "a\x00"}
	rapid.Check(t, func(t *rapid.T) {
		word := func(what string) string { return rapid.SampledFrom(words).Draw(t, what) }
		number := func(what string) int64 { return rapid.Int64Range(-1, 6).Draw(t, what) }
		if err := db.Table("t").DeleteRange(context.Background(), reads.Range("", "")); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 80).Draw(t, "cells") {
			f, q := rapid.SampledFrom(declared.Families).Draw(t, "family"), rapid.SampledFrom([]string{"p", "q"}).Draw(t, "qualifier")
			v := map[cells.Type]cells.Value{cells.TypeBytes: cells.Bytes([]byte(word("bytes"))), cells.TypeString: cells.String(word("text")),
				cells.TypeI64: cells.I64(number("i64")), cells.TypeI32: cells.I32(int32(number("i32")))}
			of := f.Type
			if of == cells.TypeAny {
				of = rapid.SampledFrom([]cells.Type{cells.TypeBytes, cells.TypeString, cells.TypeI64}).Draw(t, "type")
			}
			m := write.NewMutation()
			m.SetAt(f.Name, q, cells.Timestamp(rapid.Int64Range(1, 3).Draw(t, "time")), v[of])
			if err := db.Table("t").Apply(context.Background(), fmt.Sprint("row", rapid.IntRange(0, 4).Draw(t, "row")), m); err != nil {
				t.Fatal(err)
			}
		}
		operand := func(f schema.Family) string {
			if f.Name == "i" || f.Name == "j" {
				return fmt.Sprint(number("operand"))
			}
			return fmt.Sprintf("'%s'", strings.ReplaceAll(word("operand"), "\x00", `\x00`))
		}
		column := func() (schema.Family, string) {
			f := rapid.SampledFrom(declared.Families).Draw(t, "family")
			return f, fmt.Sprintf("%s['%s']", f.Name, rapid.SampledFrom([]string{"p", "q"}).Draw(t, "qualifier"))
		}
		var condition func(levels int) string
		condition = func(levels int) string {
			kind := rapid.IntRange(0, 6).Draw(t, "kind")
			if levels > 0 && kind > 3 {
				join := []string{"(%s AND %s)", "(%s OR %s)", "NOT (%s OR %s)"}[kind-4]
				return fmt.Sprintf(join, condition(levels-1), condition(levels-1))
			}
			f, of := column()
			switch kind {
			case 0:
				return fmt.Sprintf("%s IN (%s, %s)", of, operand(f), operand(f))
			case 1:
				return fmt.Sprintf("%s %s %s", operand(f), rapid.SampledFrom([]string{"=", "<", ">="}).Draw(t, "op"), of)
			case 2:
				return of + " IS NULL"
			}
			return fmt.Sprintf("%s %s %s", of, rapid.SampledFrom([]string{"=", "<", "<=", ">", ">=", "!="}).Draw(t, "op"), operand(f))
		}
		_, by := column()
		_, of := column()
		from := rapid.SampledFrom([]string{"t", "t", "t(as_of => TIMESTAMP '1970-01-01 00:00:00.000002')"}).Draw(t, "from")
		text := fmt.Sprintf(rapid.SampledFrom([]string{
			"SELECT %[1]s, COUNT(*), COUNT(%[2]s), MAX(%[2]s) FROM %[3]s WHERE %[4]s GROUP BY 1",
			"SELECT %[1]s, COUNT(*), COUNT(%[2]s), ANY_VALUE(_key) FROM %[3]s GROUP BY 1",
			"SELECT COUNT(%[1]s), COUNT(DISTINCT %[2]s), MIN(%[2]s), ARRAY_AGG(%[1]s IGNORE NULLS ORDER BY %[2]s) FROM %[3]s",
			"SELECT SUM(i['p']), AVG(j['q']), SUM(i['q'] + j['p']), COUNTIF(i['q'] > j['p']), AVG(i['p']), COUNT(s['p']) FROM %[3]s WHERE %[4]s",
			"FROM %[3]s |> WHERE %[4]s |> AGGREGATE COUNT(%[1]s), ARRAY_AGG(%[2]s)",
			"SELECT MAX(%[1]s), SUM(COALESCE(i['p'], 1)), COUNT(1) FROM %[3]s",
			"SELECT _key, %[1]s FROM %[3]s WHERE %[4]s LIMIT 3",
			"FROM %[3]s |> WHERE %[4]s |> SELECT _key, %[2]s",
		}).Draw(t, "query"), by, of, from, condition(2))
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		none, _ := sql.Params{}.Bind(nil)
		plan, err := q.On(declared).Plan(none)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		result := func(table sql.Table) string {
			var b strings.Builder
			for row, err := range plan.Result(context.Background(), sql.Only(table)).Rows {
				fmt.Fprintf(&b, "%q %v\n", row, err)
			}
			return b.String()
		}
		if got, want := result(db.Table("t")), result(unaided{db.Table("t")}); got != want {
			t.Fatalf("%s is\n%swant\n%s", text, got, want)
		}
	})
}
