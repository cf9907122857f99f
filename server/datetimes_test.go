package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// Bigtable's API has no DATETIME, NUMERIC, INTERVAL and JSON: a column of such a type is refused with
// advice, and nothing else becomes of it. A query can compute with it.
func TestBigtablesAPIHasNoDatetime(t *testing.T) {
	r := newRig(t)
	r.set(r.table("planes", "f"), "TF-FIR", "f:model=757")
	c := r.client()
	r.wantQuery(c, "SELECT CAST(DATETIME '2024-02-29 12:00:00' + INTERVAL 1 DAY AS STRING) FROM planes", "2024-03-01 12:00:00")
	r.wantQuery(c, "SELECT CAST(SUM(NUMERIC '0.1') AS STRING), CAST(MAX(INTERVAL 1 DAY) AS STRING) FROM planes", "0.1 0-0 1 0:0:0")
	r.wantQuery(c, "SELECT TO_JSON_STRING(JSON '{\"b\": 1, \"a\": [2]}'), PARSE_JSON('{\"a\": [2]}').a[0] IS NULL, JSON_VALUE(TO_JSON(_key)) FROM planes", `{"a":[2],"b":1} false VEYtRklS`)
	for column, kind := range map[string]string{
		"DATETIME '2024-02-29'": "DATETIME", "[DATETIME '2024-02-29']": "DATETIME", "STRUCT(1, DATETIME '2024-02-29')": "DATETIME",
		"1 + NUMERIC '1'": "NUMERIC", "[INTERVAL 1 DAY]": "INTERVAL",
	} {
		_, err := r.query(c, "SELECT _key, "+column+" AS d FROM planes", nil, nil)
		r.wantCode(err, codes.InvalidArgument, `column 2 of the result, "d", has the type `+kind+`, which Bigtable's API has no type for; CAST(… AS STRING) makes a text of it`)
	}
	for _, column := range []string{"PARSE_JSON('1')", "[JSON '1']", "STRUCT(1 AS a, JSON '1' AS b)"} {
		_, err := r.query(c, "SELECT _key, "+column+" AS d FROM planes", nil, nil)
		r.wantCode(err, codes.InvalidArgument, `column 2 of the result, "d", has the type JSON, which Bigtable's API has no type for; TO_JSON_STRING makes a text of it`)
	}
}
