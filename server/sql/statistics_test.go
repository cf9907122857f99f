package sql_test

import (
	"strings"
	"testing"
)

// A modifier that an aggregate function does not heed is an error.
func TestNullsOfAggregateFunctions(t *testing.T) {
	db := openPlanes(t)
	const from = " FROM UNNEST([2, NULL, 1]) AS x"
	for text, want := range map[string]string{
		`SELECT ARRAY_AGG(x RESPECT NULLS)`:           "[2 NULL 1]",
		`SELECT ARRAY_AGG(x IGNORE NULLS)`:            "[2 1]",
		`SELECT APPROX_QUANTILES(x, 1 IGNORE NULLS)`:  "[1 2]",
		`SELECT APPROX_QUANTILES(x, 1 RESPECT NULLS)`: "APPROX_QUANTILES does not take RESPECT NULLS",
		`SELECT SUM(x RESPECT NULLS)`:                 "SUM does not take RESPECT NULLS",
		`SELECT ABS(x RESPECT NULLS)`:                 "RESPECT NULLS, ORDER BY and LIMIT are for aggregate functions",
	} {
		got, err := db.run(text + from)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestWeightsOfTopSums(t *testing.T) {
	db := openPlanes(t)
	for text, want := range map[string]string{
		`SELECT APPROX_TOP_SUM(x, x, 1) FROM UNNEST([2, NULL, 1]) AS x`:             "[{value:2 sum:2}]",
		`SELECT APPROX_TOP_SUM(x, -x, 1) FROM UNNEST([2]) AS x`:                     "is -2; it must not be negative",
		`SELECT APPROX_TOP_SUM(x, x, 1) FROM UNNEST([CAST('nan' AS FLOAT64)]) AS x`: "is NaN; it must not be negative",
		`SELECT APPROX_TOP_SUM(1, x, 1) FROM UNNEST([9223372036854775807, 1]) AS x`: "INT64 overflow",
		`SELECT APPROX_TOP_SUM(DISTINCT x, 1, 1) FROM UNNEST([2]) AS x`:             "APPROX_TOP_SUM does not take DISTINCT",
		`SELECT APPROX_TOP_COUNT(DISTINCT x, 1) FROM UNNEST([2]) AS x`:              "APPROX_TOP_COUNT does not take DISTINCT",
	} {
		got, err := db.run(text)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// DISTINCT finds the same values equal with ORDER BY and without it.
func TestDistinctValuesInOrder(t *testing.T) {
	db := openPlanes(t)
	for _, order := range []string{"", " ORDER BY x"} {
		got, err := db.run(`SELECT ARRAY_LENGTH(ARRAY_AGG(DISTINCT x` + order + `)) FROM UNNEST([0.0, -CAST(0 AS FLOAT64), NULL, NULL]) AS x`)
		if err != nil || got != "2" {
			t.Errorf("%s: got %s, %v", order, got, err)
		}
	}
}
