package sql_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// Queries that would need much time or memory have an answer or an error that says why not.
func TestHostileQueriesAreBounded(t *testing.T) {
	db := openPlanes(t)
	deep := func(open, inner, end string) string {
		return strings.Repeat(open, 20_000) + inner + strings.Repeat(end, 20_000)
	}
	const many = "UNNEST(GENERATE_ARRAY(1, 1000))"
	for _, q := range []struct{ name, sql, want string }{
		{"array", `SELECT GENERATE_ARRAY(-9223372036854775808, 9223372036854775807, 1)`, "GENERATE_ARRAY makes more than"},
		{"repeat", `SELECT REPEAT(REPEAT('ab', 1000000), 1000000)`, "larger than 16 MiB"},
		{"pad", `SELECT RPAD('a', 9223372036854775807, 'bc')`, "larger than 16 MiB"},
		{"width", `SELECT FORMAT('%9223372036854775807d', 1)`, "FORMAT"},
		{"star", `SELECT FORMAT('%*d', 2000000000, 1)`, "16 MiB"},
		{"repetition", `SELECT REGEXP_CONTAINS('a', '((a{1000}){1000}){1000}')`, "Cannot parse regular expression"},
		{"product", `SELECT COUNT(*) FROM ` + many + `, ` + many + `, ` + many, "UNNEST makes more than"},
		{"aggregates", `SELECT LENGTH(STRING_AGG(REPEAT('a', 1000000))) FROM ` + many, "256 MiB of memory"},
		{"brackets", "SELECT " + deep("(", "1", ")"), "deep"},
		{"functions", "SELECT " + deep("ABS(", "1", ")"), "deep"},
		{"case", "SELECT " + deep("CASE WHEN TRUE THEN ", "1", " END"), "deep"},
		{"subqueries", deep("SELECT * FROM (", "SELECT 1", ")"), "nested too deeply"},
		{"arrays", "SELECT " + deep("[", "1", "]"), "deep"},
		{"types", "SELECT CAST([] AS " + deep("ARRAY<", "INT64", " >") + ")", "deep"},
		{"not", "SELECT " + deep("NOT ", "TRUE", ""), "deep"},
		{"minus", "SELECT " + deep("- ", "1", ""), "deep"},
		{"pipes", "FROM t" + deep(" |> WHERE TRUE", "", ""), "too many pipes; it may have up to 1000"},
		{"literal", "SELECT LENGTH('" + strings.Repeat("a", 10<<20) + "')", "it may have up to 1048576"},
		{"in", "SELECT 1 IN (0" + strings.Repeat(", 2", 100_000) + ")", "false"},
		{"arrays to search", "SELECT " + strings.Repeat("1 IN UNNEST(GENERATE_ARRAY(2, 1000000)) OR ", 1000) + "FALSE", "more than 512 MiB of one row"},
		{"columns of text", `SELECT ` + strings.Repeat(`REPEAT('a', 16000000), `, 1000) + `1`, "more than 512 MiB of one row [at 1:"},
		{"columns of arrays", `SELECT ` + strings.Repeat(`REPEAT('a', 16000000), `, 26) + strings.Repeat(`SPLIT(REPEAT('a,', 500000)), `, 1000) + `1`, "more than 512 MiB of one row"},
		{"array of text", `SELECT [` + strings.Repeat(`REPEAT('a', 16000000), `, 1000) + `'']`, "more than 512 MiB of one row"},
		{"struct of text", `SELECT LENGTH(TO_JSON_STRING(STRUCT(` + strings.Repeat(`REPEAT('a', 16000000), `, 1000) + `1)))`, "more than 512 MiB of one row"},
		{"arguments", `SELECT CONCAT(` + strings.Repeat(`REPEAT('a', 16000000), `, 1000) + `'')`, "more than 512 MiB of one row"},
		{"pipes that double", `SELECT [1] AS x` + strings.Repeat(` |> SELECT x || x AS x`, 100), "the array has more than"},
		{"many products", "SELECT COUNT(*) FROM " + strings.Repeat("UNNEST([1, 2]), ", 500) + "UNNEST([1])", "UNNEST makes more than"},
		{"hexadecimal", `SELECT TO_HEX(CAST(REPEAT('a', 16000000) AS BYTES))`, "larger than 16 MiB"},
		{"split", `SELECT SPLIT(REPEAT(',', 16000000))`, "more than 1048576 elements"},
		{"code points", `SELECT TO_CODE_POINTS(REPEAT(',', 16000000))`, "more than 1048576 elements"},
		{"matches", `SELECT REGEXP_EXTRACT_ALL(REPEAT(',', 2000000), ',')`, "more than 1048576 elements"},
		{"elements of json", `SELECT JSON_QUERY_ARRAY(CONCAT('[1', REPEAT(',1', 2000000), ']'))`, "more than 1048576 elements"},
		{"pattern", `SELECT REGEXP_CONTAINS(REPEAT('a', 16000000), '(a?){1000}b')`, "takes too long"},
		{"matches that look ahead", `SELECT REGEXP_REPLACE(REPEAT('a', 3000000), 'a*?b|a', 'c')`, "takes too long"},
		{"like", `SELECT REPEAT('a', 16000000) LIKE CONCAT('%', REPEAT('a', 100000), 'b')`, "takes too long"},
		{"pattern of like", `SELECT '' LIKE REPEAT('a', 16000000)`, "it may have up to 1048576"},
		{"trim", `SELECT LENGTH(TRIM(REPEAT('a', 1000000), REPEAT('b', 1000000)))`, "1000000"},
		{"instr", `SELECT INSTR(REPEAT('a', 16000000), CONCAT(REPEAT('a', 8000000), 'b'))`, "takes too long"},
		{"lambda", `SELECT ARRAY_FILTER(GENERATE_ARRAY(1, 1000000), e -> ARRAY_INCLUDES(GENERATE_ARRAY(1, 1000000), f -> f < 0))`, "are called more than"},
		{"lambdas", "SELECT ARRAY_TRANSFORM([1], e -> " + deep("ARRAY_TRANSFORM([1], e -> ", "e", ")") + ")", "deep"},
		{"steps of json", `SELECT JSON_VALUE(CONCAT(REPEAT('{"a":', 90), '"', REPEAT('a', 15000000), '"', REPEAT('}', 90)), '$` + strings.Repeat(".a", 90) + `.b')`, "NULL"},
		{"levels of json", `SELECT PARSE_JSON(REPEAT('[', 8000000) || REPEAT(']', 8000000))`, "is not JSON"},
		{"deep json", `SELECT PARSE_JSON(REPEAT('{"a":', 9000) || '1' || REPEAT('}', 9000))`, "up to 500 levels"},
		{"large json", `SELECT PARSE_JSON('"' || REPEAT('a', 16000000) || '" ' || REPEAT(' ', 16000000))`, "larger than 16 MiB"},
		{"names of json", `SELECT LENGTH(TO_JSON_STRING(PARSE_JSON('{"b":0' || REPEAT(',"a":0', 2000000) || '}')))`, "13"},
		{"json that grows", `SELECT JSON_ARRAY(` + strings.Repeat(`REPEAT('a', 9000000), `, 2) + `1)`, "larger than 16 MiB"},
		{"escapes of json", `SELECT TO_JSON(REPEAT('\x01', 9000000))`, "larger than 16 MiB"},
		{"nulls of json", `SELECT JSON_SET(JSON '[]', '$` + strings.Repeat("[1000000]", 4) + `', 1)`, "larger than 16 MiB"},
		{"elements to insert", `SELECT JSON_ARRAY_INSERT(JSON '[]', '$[2000000000]', 1)`, "more than 1048576 elements"},
		{"keys of json", `SELECT JSON_KEYS(PARSE_JSON('{"' || REPEAT('a', 4000000) || '":{"b":1,"c":1,"d":1,"e":1}}'))`, "larger than 16 MiB"},
		{"columns of json", "SELECT " + strings.Repeat(`TO_JSON(REPEAT('a', 16000000)), `, 1000) + `1`, "more than 512 MiB of one row"},
		{"members of json", "SELECT (JSON '{}')" + strings.Repeat(".a", 100_000), "deep"},
		{"paths of json", `SELECT JSON_REMOVE(JSON '{}', '$` + strings.Repeat(".a", 100_000) + `')`, "with up to 100 steps"},
		{"exponent of json", `SELECT PARSE_JSON('1e' || REPEAT('9', 1000000), 'round')`, "out of the range"},
		{"json", "SELECT JSON_VALUE(REPEAT('[', 1000000), '$.a')", "NULL"},
	} {
		t.Run(q.name, func(t *testing.T) {
			got, err := db.run(q.sql)
			text := fmt.Sprint(got, " ", err)
			if !strings.Contains(text, q.want) {
				t.Errorf("got %.300s, want %q", text, q.want)
			}
		})
	}
}

// A query that is cancelled at its first row ends, in each of its stages.
func TestCancelledQueriesEndInEachStage(t *testing.T) {
	table := schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}
	for _, text := range []string{
		"SELECT _key, COUNT(*) AS n FROM t GROUP BY _key HAVING n > 0 ORDER BY n",
		"SELECT DISTINCT _key FROM t",
		"SELECT COUNT(*) FROM t",
		"SELECT ARRAY_AGG(_key) FROM t",
		"SELECT _key FROM t ORDER BY LENGTH(_key), _key DESC",
		"SELECT COUNT(*) FROM t, UNNEST(GENERATE_ARRAY(1, 2048)) AS e GROUP BY e",
		"SELECT e FROM t, UNNEST(GENERATE_ARRAY(1, 2048)) AS e ORDER BY e DESC",
		"SELECT RANK() OVER (PARTITION BY LENGTH(_key) ORDER BY e) FROM t, UNNEST(GENERATE_ARRAY(1, 2048)) AS e",
	} {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p, err := q.On(table).Plan(sql.Params{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		rows := 0
		var all iter.Seq2[*query.Row, error] = func(yield func(*query.Row, error) bool) {
			cancel()
			for rows = 1; rows <= 100_000; rows++ {
				if !yield(query.NewRow(fmt.Sprintf("row %d", rows), []cells.Cell{{Family: "f", Qualifier: "q", Timestamp: 1, Value: cells.I64(1)}}), nil) {
					return
				}
			}
		}
		err = p.Run(ctx, sql.Only(someRows{all}), func([]any) error { return nil })
		if !errors.Is(err, context.Canceled) || rows > 5000 {
			t.Errorf("%s: %d rows, %v", text, rows, err)
		}
	}
}

// A query that is cancelled after its last row ends before it passes on groups or sorted rows.
func TestCancelledQueriesEndBeforeTheirResult(t *testing.T) {
	table := schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}
	for _, text := range []string{
		"SELECT _key, COUNT(*) AS n FROM t GROUP BY _key HAVING n > 0",
		"SELECT _key, COUNT(*) AS n FROM t GROUP BY _key ORDER BY n, _key DESC",
		"SELECT SUM(LENGTH(_key)) OVER (ORDER BY _key DESC) FROM t",
		"SELECT _key FROM t ORDER BY LENGTH(_key), _key DESC",
	} {
		q, err := sql.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p, err := q.On(table).Plan(sql.Params{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var all iter.Seq2[*query.Row, error] = func(yield func(*query.Row, error) bool) {
			defer cancel()
			for i := range 3000 {
				if !yield(query.NewRow(fmt.Sprintf("row %d", i), []cells.Cell{{Family: "f", Qualifier: "q", Timestamp: 1, Value: cells.I64(1)}}), nil) {
					return
				}
			}
		}
		emitted := 0
		err = p.Run(ctx, sql.Only(someRows{all}), func([]any) error { emitted++; return nil })
		if !errors.Is(err, context.Canceled) || emitted > 0 {
			t.Errorf("%s: %d rows, %v", text, emitted, err)
		}
	}
}

// A lambda that would be called for long ends when the query is cancelled.
func TestCancelledLambdasEnd(t *testing.T) {
	q, err := sql.Parse("SELECT ARRAY_TRANSFORM(GENERATE_ARRAY(1, 1000000), e -> REGEXP_CONTAINS(x, '(a?){100}b')) FROM UNNEST([REPEAT('a', 100000)]) AS x")
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(sql.Params{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- p.Run(ctx, sql.Only(nil), func([]any) error { return nil }) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the query ends with %v", err)
	}
}
