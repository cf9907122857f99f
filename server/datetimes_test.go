package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// Bigtable's API has no DATETIME: a column of that type is refused with advice, and nothing
// else becomes of it. A query can compute with it.
func TestBigtablesAPIHasNoDatetime(t *testing.T) {
	r := newRig(t)
	r.set(r.table("planes", "f"), "TF-FIR", "f:model=757")
	c := r.client()
	r.wantQuery(c, "SELECT CAST(DATETIME '2024-02-29 12:00:00' + INTERVAL 1 DAY AS STRING) FROM planes", "2024-03-01 12:00:00")
	for _, column := range []string{"DATETIME '2024-02-29'", "[DATETIME '2024-02-29']", "STRUCT(1, DATETIME '2024-02-29')"} {
		_, err := r.query(c, "SELECT _key, "+column+" AS d FROM planes", nil, nil)
		r.wantCode(err, codes.InvalidArgument, `column 2 of the result, "d", has the type DATETIME, which Bigtable's API has no type for; CAST(… AS STRING) makes a text of it`)
	}
}
