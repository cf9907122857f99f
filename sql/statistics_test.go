package sql_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
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

// Statistics of very large and very small numbers are as good as others: nothing between
// overflows, or is lost, if the result is not.
func TestStatisticsOfAnySize(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT STDDEV_POP(x), STDDEV_SAMP(x) = SQRT(2) * 2.2e304, AVG(x) FROM UNNEST([2.2e304, -2.2e304]) AS x`, "2.2e+304 true 0"},
		{`SELECT STDDEV_POP(x), VAR_POP(x) FROM UNNEST([1e155, -1e155]) AS x`, "1e+155 +Inf"},
		{`SELECT CORR(x, y), CORR(x, -x), CORR(x * 1e-300, y * 1e-300) FROM UNNEST([STRUCT(1e155 AS x, 1e155 AS y), (2e155, 2e155), (3e155, 3e155)])`, "1 -1 1"},
		{`SELECT COVAR_POP(x, y), COVAR_SAMP(y, x) FROM UNNEST([STRUCT(1e300 AS x, 1e-300 AS y), (-1e300, -1e-300)])`, "1 2"},
		{`SELECT STDDEV_POP(x), VAR_POP(x) FROM UNNEST([1e-200, -1e-200]) AS x`, "1e-200 0"},
		{`SELECT AVG(x), AVG(-x) FROM UNNEST([1.5e308, 1.5e308, 1.5e308]) AS x`, "1.5e+308 -1.5e+308"},
		{`SELECT VAR_POP(x), STDDEV_POP(x), CORR(x, x) FROM UNNEST([0.0, 0.0]) AS x`, "0 0 NaN"},
		{`SELECT VAR_POP(x), VAR_SAMP(x), AVG(x), CORR(x, x) FROM UNNEST([1.0, CAST('inf' AS FLOAT64)]) AS x`, "NaN NaN +Inf NaN"},
		{`SELECT VAR_POP(x) FROM UNNEST([1.0, CAST('nan' AS FLOAT64)]) AS x`, "NaN"},
		{`SELECT VAR_SAMP(x), VAR_POP(x), COVAR_SAMP(x, x), CORR(x, x), AVG(x) FROM UNNEST([5]) AS x`, "NULL 0 NULL NULL 5"},
	} {
		if got, err := db.run(q.sql); err != nil || got != q.want {
			t.Errorf("%s: %s, %v; want %s", q.sql, got, err, q.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(-900, 900).Draw(t, "size")
		n := rapid.IntRange(2, 20).Draw(t, "n")
		list := make([]string, n)
		sum, squares := new(big.Float).SetPrec(4096), new(big.Float).SetPrec(4096)
		for i := range list {
			f := math.Ldexp(rapid.Float64Range(-1, 1).Draw(t, "number"), size+rapid.IntRange(-60, 60).Draw(t, "more"))
			list[i] = fmt.Sprintf("CAST('%g' AS FLOAT64)", f)
			x := new(big.Float).SetPrec(4096).SetFloat64(f)
			sum.Add(sum, x)
			squares.Add(squares, new(big.Float).SetPrec(4096).Mul(x, x))
		}
		count := new(big.Float).SetPrec(4096).SetInt64(int64(n))
		mean := new(big.Float).SetPrec(4096).Quo(sum, count)
		variance := new(big.Float).SetPrec(4096).Sub(new(big.Float).SetPrec(4096).Quo(squares, count), new(big.Float).SetPrec(4096).Mul(mean, mean))
		if variance.Sign() < 0 {
			variance.SetInt64(0)
		}
		want, _ := new(big.Float).Sqrt(variance).Float64()
		text, err := db.run("SELECT STDDEV_POP(x) FROM UNNEST([" + strings.Join(list, ", ") + "]) AS x")
		got, bad := strconv.ParseFloat(text, 64)
		if err != nil || bad != nil || math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Fatalf("%v: %s, %v; want %g", list, text, err, want)
		}
	})
}
