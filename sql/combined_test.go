package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/sql"
)

// operands are expressions of every type, with the values that are special in it.
var operands = []string{
	"NULL", "CAST(NULL AS INT64)", "1", "-9223372036854775808", "2.5", "CAST('nan' AS FLOAT64)", "CAST('-inf' AS FLOAT64)", "CAST(1.5 AS FLOAT32)",
	"'a'", "''", "'2024-01-01'", `'{"a": [null]}'`, "'%'", `b'\xff'`, "b''", "TRUE", "DATE '2024-02-29'", "TIMESTAMP_SECONDS(0)",
	"[]", "[NULL]", "[1, NULL]", "[1.5]", "['a']", "[b'a']", "[TRUE]", "[DATE '2024-01-01']", "[STRUCT(1 AS x, NULL AS y)]", "CAST(NULL AS ARRAY<INT64>)", "[CAST('nan' AS FLOAT64)]",
	"STRUCT(1 AS x)", "(1, NULL)", "(NULL, [1])", "STRUCT('a' AS x, [(1, 2)] AS y)", "CAST(NULL AS STRUCT<INT64>)", "STRUCT()",
	"_key", "f", "n", "g", "f['model']", "n['i']", "g['none']", "[f['model']]", "(_key, n['i'])", "IF(FALSE, f, NULL)", "RAND()", "CURRENT_DATE",
	"e -> e", "(e, i) -> e = i", "INTERVAL 1 DAY", "DAY", "*",
}

// places are where an operand can stand, beside those of functions.
var places = []string{
	"SELECT %s = %s FROM t", "SELECT %s != %s FROM t", "SELECT %s < %s FROM t", "SELECT %s >= %s FROM t", "SELECT %s IS DISTINCT FROM %s FROM t",
	"SELECT %s IN (%s) FROM t", "SELECT %s NOT IN (%s, NULL) FROM t", "SELECT %s IN (1, %s, 2.5) FROM t", "SELECT %s IN UNNEST(%s) FROM t", "SELECT %s IN UNNEST([%s, NULL]) FROM t",
	"SELECT %s BETWEEN %s AND NULL FROM t", "SELECT NULL BETWEEN %s AND %s FROM t", "SELECT %s LIKE %s FROM t",
	"SELECT %s + %s FROM t", "SELECT %s - %s FROM t", "SELECT %s * %s FROM t", "SELECT %s / %s FROM t", "SELECT %s || %s FROM t", "SELECT %s & %s FROM t", "SELECT %s << %s FROM t",
	"SELECT %s AND %s FROM t", "SELECT NOT %s OR %s FROM t", "SELECT -%s, ~%s FROM t", "SELECT %s IS NULL, %s IS TRUE FROM t",
	"SELECT CASE %s WHEN %s THEN 1 WHEN NULL THEN 2 END FROM t", "SELECT CASE WHEN %s THEN %s END FROM t", "SELECT IF(TRUE, %s, %s) FROM t",
	"SELECT [%s, %s] FROM t", "SELECT (%s, %s), STRUCT(%s AS a) FROM t", "SELECT (%s)[%s] FROM t", "SELECT (%s)[OFFSET(%s)], (%s)[SAFE_ORDINAL(%s)] FROM t",
	"SELECT (%s).x FROM t WHERE %s", "SELECT ARRAY<INT64>[%s], ARRAY<STRUCT<x STRING, y INT64>>[%s] FROM t", "SELECT STRUCT<FLOAT32, STRING>(%s, %s) FROM t",
	"SELECT _key FROM t WHERE [%s] = %s", "SELECT _key FROM t WHERE _key = %s OR n['i'] IN (%s, 1)", "SELECT _key FROM t ORDER BY %s, %s LIMIT 2", "SELECT %s AS a, COUNT(%s) FROM t GROUP BY a",
	"SELECT DISTINCT %s, %s FROM t", "SELECT * FROM UNNEST(%s) AS x WITH OFFSET WHERE %s IS NULL", "FROM t |> EXTEND %s AS a |> WHERE a = %s |> AGGREGATE MAX(a) GROUP BY a",
	"SELECT CAST(%s AS STRING), SAFE_CAST(%s AS BYTES) FROM t", "SELECT CAST(%s AS ARRAY<STRING>), CAST(%s AS STRUCT<INT64, INT64>) FROM t", "SELECT CAST(%s AS DATE), SAFE_CAST(%s AS FLOAT32) FROM t",
	"SELECT EXTRACT(YEAR FROM %s), DATE_ADD(%s, INTERVAL 1 DAY) FROM t", "SELECT ARRAY_AGG(%s ORDER BY %s LIMIT 2) FROM t", "SELECT FORMAT('%%t %%T', %s, %s) FROM t",
	"EXPLAIN SELECT _key FROM t WHERE _key IN (%s, %s)",
}

// faults are what no answer says.
var faults = []string{"PANIC", "%!", "runtime error", "nil pointer", "<nil>", "(EXTRA", "BADPREC"}

// Every function and every operator has a value or an error for operands of every type.
// None of them panics, also within a message.
func TestEveryCombinationIsAnswered(t *testing.T) {
	db := openPlanes(t)
	var functions []string
	for _, f := range sql.Functions() {
		functions = append(functions, f.Name)
	}
	ask := func(text string) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("%s: %v", text, r)
			}
		}()
		got, err := db.run(text)
		answer := fmt.Sprint(got)
		if err != nil {
			answer = err.Error()
		}
		for _, fault := range faults {
			if strings.Contains(answer, fault) {
				t.Errorf("%s: %.300s", text, answer)
			}
		}
	}
	for _, name := range functions {
		ask("SELECT " + name + "() FROM t")
		for i, a := range operands {
			ask("SELECT " + name + "(" + a + ") FROM t")
			ask("SELECT SAFE." + name + "(NULL, " + a + ") FROM t")
			b, c := operands[(i*7+3)%len(operands)], operands[(i*11+5)%len(operands)]
			ask("SELECT " + name + "(" + a + ", " + b + ") FROM t")
			ask("SELECT " + name + "(NULL, NULL, " + a + ") FROM t")
			ask("SELECT " + name + "(" + a + ", " + b + ", " + c + ") FROM t")
			ask("SELECT " + name + "(DISTINCT " + a + " ORDER BY " + b + ") FROM t")
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, place := range places {
		for _, a := range operands {
			for _, b := range append([]string{"NULL", a}, operands[rng.IntN(len(operands))], operands[rng.IntN(len(operands))], operands[rng.IntN(len(operands))]) {
				operand := []any{a, b, a, b}
				ask(fmt.Sprintf(place, operand[:strings.Count(strings.ReplaceAll(place, "%%", ""), "%s")]...))
			}
		}
	}
}
