package server

import (
	"fmt"
	"strconv"
	"strings"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/server/internal/data"
)

//lint:file-ignore SA1019 clients that do not prepare a query send fields that are deprecated

// rowsOf says in words which rows a request is about; "" if it is about no rows. It
// names the first key or range alone.
func rowsOf(request any) string {
	switch m := request.(type) {
	case *bigtablepb.ReadRowsRequest:
		text := rowSetText(m.GetRows())
		if m.GetReversed() {
			text += ", last first"
		}
		if n := m.GetRowsLimit(); n > 0 {
			text += fmt.Sprintf(", up to %d", n)
		}
		return text
	case *bigtablepb.MutateRowsRequest:
		if n := len(m.GetEntries()); n > 0 {
			return keysText(m.GetEntries()[0].GetRowKey(), n)
		}
	case *smolwcpb.RunStatementRequest:
		return excerpt.Of(m.GetText())
	case *smolwcpb.ApplyBatchRequest:
		if n := len(m.GetEntries()); n > 0 {
			return keysText(m.GetEntries()[0].GetRowKey(), n)
		}
	case *bigtablepb.ExecuteQueryRequest:
		if prepared, _, err := data.PreparedQuery(m); err == nil {
			return excerpt.Of(prepared.GetQuery())
		}
	case *bigtablepb.PrepareQueryRequest:
		return excerpt.Of(m.GetQuery())
	case *bigtablepb.ReadChangeStreamRequest:
		return rangeText(m.GetPartition().GetRowRange())
	case interface{ GetRowKey() []byte }:
		return keysText(m.GetRowKey(), 1)
	}
	return ""
}

func rowSetText(set *bigtablepb.RowSet) string {
	keys, ranges := set.GetRowKeys(), set.GetRowRanges()
	switch {
	case len(keys) > 0 && len(ranges) > 0:
		return fmt.Sprintf("%s and %d ranges", keysText(keys[0], len(keys)), len(ranges))
	case len(keys) > 0:
		return keysText(keys[0], len(keys))
	case len(ranges) > 1:
		return fmt.Sprintf("%d ranges, the first %s", len(ranges), rangeText(ranges[0]))
	case len(ranges) == 1:
		return rangeText(ranges[0])
	}
	return "all rows"
}

func keysText(first []byte, n int) string {
	if n == 1 {
		return "key " + keyText(first)
	}
	return fmt.Sprintf("%d keys, the first %s", n, keyText(first))
}

func keyText(key []byte) string { return excerpt.Of(strconv.Quote(string(key))) }

func rangeText(r *bigtablepb.RowRange) string {
	var parts []string
	add := func(word string, key []byte) {
		if len(key) > 0 { // an empty key is no bound
			parts = append(parts, word+" "+keyText(key))
		}
	}
	add("from", r.GetStartKeyClosed())
	add("after", r.GetStartKeyOpen())
	add("through", r.GetEndKeyClosed())
	add("to before", r.GetEndKeyOpen())
	if len(parts) == 0 {
		return "all rows"
	}
	return strings.Join(parts, " ")
}
