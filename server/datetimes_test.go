package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// Bigtable's API has no DATETIME, NUMERIC and INTERVAL: a column of such a type is refused with
// advice, and nothing else becomes of it. A query can compute with it.
func TestBigtablesAPIHasNoDatetime(t *testing.T) {
	r := newRig(t)
	r.set(r.table("planes", "f"), "TF-FIR", "f:model=757")
	c := r.client()
	r.wantQuery(c, "SELECT CAST(DATETIME '2024-02-29 12:00:00' + INTERVAL 1 DAY AS STRING) FROM planes", "2024-03-01 12:00:00")
	r.wantQuery(c, "SELECT CAST(SUM(NUMERIC '0.1') AS STRING), CAST(MAX(INTERVAL 1 DAY) AS STRING) FROM planes", "0.1 0-0 1 0:0:0")
	for column, kind := range map[string]string{
		"DATETIME '2024-02-29'": "DATETIME", "[DATETIME '2024-02-29']": "DATETIME", "STRUCT(1, DATETIME '2024-02-29')": "DATETIME",
		"1 + NUMERIC '1'": "NUMERIC", "[INTERVAL 1 DAY]": "INTERVAL",
	} {
		_, err := r.query(c, "SELECT _key, "+column+" AS d FROM planes", nil, nil)
		r.wantCode(err, codes.InvalidArgument, `column 2 of the result, "d", has the type `+kind+`, which Bigtable's API has no type for; CAST(… AS STRING) makes a text of it`)
	}
}
