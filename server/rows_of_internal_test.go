package server

import (
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

//lint:file-ignore SA1019 clients that do not prepare a query send fields that are deprecated

func TestRowsOfARequest(t *testing.T) {
	within := func(from, to string) *bigtablepb.RowRange {
		return &bigtablepb.RowRange{StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(from)}, EndKey: &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(to)}}
	}
	read := func(rows *bigtablepb.RowSet) *bigtablepb.ReadRowsRequest {
		return &bigtablepb.ReadRowsRequest{Rows: rows}
	}
	for _, c := range []struct {
		request any
		want    string
	}{
		{read(nil), "all rows"},
		{&bigtablepb.ReadRowsRequest{Reversed: true, RowsLimit: 10}, "all rows, last first, up to 10"},
		{read(&bigtablepb.RowSet{RowKeys: [][]byte{[]byte("a\xff")}}), `key "a\xff"`},
		{read(&bigtablepb.RowSet{RowKeys: [][]byte{[]byte("a"), []byte("b")}}), `2 keys, the first "a"`},
		{read(&bigtablepb.RowSet{RowKeys: [][]byte{[]byte("a")}, RowRanges: []*bigtablepb.RowRange{within("b", "c")}}), `key "a" and 1 ranges`},
		{read(&bigtablepb.RowSet{RowRanges: []*bigtablepb.RowRange{within("a", "b")}}), `from "a" to before "b"`},
		{read(&bigtablepb.RowSet{RowRanges: []*bigtablepb.RowRange{within("", "")}}), "all rows"},
		{read(&bigtablepb.RowSet{RowRanges: []*bigtablepb.RowRange{within("", "b"), within("c", "")}}), `2 ranges, the first to before "b"`},
		{&bigtablepb.MutateRowRequest{RowKey: []byte("a")}, `key "a"`},
		{&bigtablepb.MutateRowsRequest{Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: []byte("a")}, {}}}, `2 keys, the first "a"`},
		{&bigtablepb.ExecuteQueryRequest{Query: "SELECT 1"}, "SELECT 1"},
		{&bigtablepb.PingAndWarmRequest{}, ""},
	} {
		if got := rowsOf(c.request); got != c.want {
			t.Errorf("%v: %s, want %s", c.request, got, c.want)
		}
	}
	if got := rowsOf(&bigtablepb.MutateRowRequest{RowKey: []byte(strings.Repeat("\x00", 4096))}); len(got) > 200 {
		t.Errorf("%d bytes", len(got))
	}
}
