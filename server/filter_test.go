package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

type rowFilter = bigtablepb.RowFilter

func regexOf(kind, expr string) *rowFilter {
	switch kind {
	case "row":
		return &rowFilter{Filter: &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: []byte(expr)}}
	case "family":
		return &rowFilter{Filter: &bigtablepb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: expr}}
	case "qualifier":
		return &rowFilter{Filter: &bigtablepb.RowFilter_ColumnQualifierRegexFilter{ColumnQualifierRegexFilter: []byte(expr)}}
	}
	return &rowFilter{Filter: &bigtablepb.RowFilter_ValueRegexFilter{ValueRegexFilter: []byte(expr)}}
}

func chain(fs ...*rowFilter) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: fs}}}
}

func interleave(fs ...*rowFilter) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_Interleave_{Interleave: &bigtablepb.RowFilter_Interleave{Filters: fs}}}
}

func conditionOf(p, a, b *rowFilter) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_Condition_{Condition: &bigtablepb.RowFilter_Condition{PredicateFilter: p, TrueFilter: a, FalseFilter: b}}}
}

func label(l string) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_ApplyLabelTransformer{ApplyLabelTransformer: l}}
}

func bitmask(mask string) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_ValueBitmaskFilter{ValueBitmaskFilter: &bigtablepb.ValueBitmask{Mask: []byte(mask)}}}
}

func sample(p float64) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_RowSampleFilter{RowSampleFilter: p}}
}

func limits(kind string, n int32) *rowFilter {
	switch kind {
	case "row":
		return &rowFilter{Filter: &bigtablepb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: n}}
	case "offset":
		return &rowFilter{Filter: &bigtablepb.RowFilter_CellsPerRowOffsetFilter{CellsPerRowOffsetFilter: n}}
	}
	return &rowFilter{Filter: &bigtablepb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: n}}
}

func times(start, end int64) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_TimestampRangeFilter{TimestampRangeFilter: &bigtablepb.TimestampRange{StartTimestampMicros: start, EndTimestampMicros: end}}}
}

func columns(family, start, end string) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: &bigtablepb.ColumnRange{FamilyName: family,
		StartQualifier: &bigtablepb.ColumnRange_StartQualifierOpen{StartQualifierOpen: []byte(start)},
		EndQualifier:   &bigtablepb.ColumnRange_EndQualifierClosed{EndQualifierClosed: []byte(end)}}}}
}

func valueRange(start, end string) *rowFilter {
	return &rowFilter{Filter: &bigtablepb.RowFilter_ValueRangeFilter{ValueRangeFilter: &bigtablepb.ValueRange{
		StartValue: &bigtablepb.ValueRange_StartValueOpen{StartValueOpen: []byte(start)},
		EndValue:   &bigtablepb.ValueRange_EndValueClosed{EndValueClosed: []byte(end)}}}}
}

func constantOf(kind string, set bool) *rowFilter {
	switch kind {
	case "sink":
		return &rowFilter{Filter: &bigtablepb.RowFilter_Sink{Sink: set}}
	case "pass":
		return &rowFilter{Filter: &bigtablepb.RowFilter_PassAllFilter{PassAllFilter: set}}
	case "block":
		return &rowFilter{Filter: &bigtablepb.RowFilter_BlockAllFilter{BlockAllFilter: set}}
	}
	return &rowFilter{Filter: &bigtablepb.RowFilter_StripValueTransformer{StripValueTransformer: set}}
}

// chunksOf shows the cells that a filter leaves, in chunks.
func (r *rig) chunksOf(req *bigtablepb.ReadRowsRequest) (string, error) {
	messages, err := r.tryRead(req)
	var b strings.Builder
	family, qualifier := "", ""
	begins := true // a row
	for _, m := range messages {
		for _, c := range m.GetChunks() {
			if begins {
				fmt.Fprintf(&b, "%s:", c.GetRowKey())
			}
			begins = c.GetCommitRow()
			if c.GetFamilyName() != nil {
				family = c.GetFamilyName().GetValue()
			}
			if c.GetQualifier() != nil {
				qualifier = string(c.GetQualifier().GetValue())
			}
			fmt.Fprintf(&b, " %s.%s@%d=%s", family, qualifier, c.GetTimestampMicros()/1000, c.GetValue())
			for _, l := range c.GetLabels() {
				b.WriteString("!" + l)
			}
			if c.GetCommitRow() {
				b.WriteString("; ")
			}
		}
	}
	return strings.TrimSuffix(b.String(), "; "), err
}

// Every filter of RowFilter reaches the database unchanged.
func TestEveryFilter(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "g")
	for i, key := range []string{"a", "b"} {
		m := bigtable.NewMutation()
		m.Set("f", "x", 1000, []byte{'1' + byte(i)})
		m.Set("f", "x", 2000, []byte{'3' + byte(i)})
		m.Set("g", "y", 1000, []byte("v"))
		r.must(tab.Apply(r.ctx(), key, m))
	}
	for _, c := range []struct {
		filter *rowFilter
		want   string
	}{
		{nil, "a: f.x@2=3 f.x@1=1 g.y@1=v; b: f.x@2=4 f.x@1=2 g.y@1=v"},
		{&rowFilter{}, "a: f.x@2=3 f.x@1=1 g.y@1=v; b: f.x@2=4 f.x@1=2 g.y@1=v"},
		{chain(regexOf("family", "f"), limits("column", 1)), "a: f.x@2=3; b: f.x@2=4"},
		{interleave(regexOf("family", "g"), chain(regexOf("qualifier", "y"), label("l"))), "a: g.y@1=v g.y@1=v!l; b: g.y@1=v g.y@1=v!l"},
		{conditionOf(regexOf("value", "1"), regexOf("family", "g"), nil), "a: g.y@1=v"},
		{conditionOf(regexOf("value", "1"), nil, limits("row", 1)), "b: f.x@2=4"},
		{chain(constantOf("sink", true), constantOf("block", true)), "a: f.x@2=3 f.x@1=1 g.y@1=v; b: f.x@2=4 f.x@1=2 g.y@1=v"},
		{constantOf("pass", true), "a: f.x@2=3 f.x@1=1 g.y@1=v; b: f.x@2=4 f.x@1=2 g.y@1=v"},
		{constantOf("block", true), ""},
		{chain(regexOf("row", "[b-z]"), constantOf("strip", true)), "b: f.x@2= f.x@1= g.y@1="},
		{columns("f", "w", "x"), "a: f.x@2=3 f.x@1=1; b: f.x@2=4 f.x@1=2"},
		{columns("f", "x", "z"), ""},
		{times(2000, 3000), "a: f.x@2=3; b: f.x@2=4"},
		{times(2000, math.MaxInt64), "a: f.x@2=3; b: f.x@2=4"},
		{valueRange("1", "3"), "a: f.x@2=3; b: f.x@1=2"},
		{bitmask("2"), "a: f.x@2=3 g.y@1=v; b: f.x@1=2 g.y@1=v"},
		{limits("row", 2), "a: f.x@2=3 f.x@1=1; b: f.x@2=4 f.x@1=2"},
		{limits("offset", 2), "a: g.y@1=v; b: g.y@1=v"},
		{chain(regexOf("row", "a"), label("tag-1")), "a: f.x@2=3!tag-1 f.x@1=1!tag-1 g.y@1=v!tag-1"},
	} {
		got, err := r.chunksOf(&bigtablepb.ReadRowsRequest{TableName: tableT, Filter: c.filter})
		r.must(err)
		if got != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", c.filter, got, c.want)
		}
	}
	got, err := r.chunksOf(&bigtablepb.ReadRowsRequest{TableName: tableT, Filter: sample(math.Nextafter(1, 0))})
	r.must(err)
	if strings.Count(got, "; ") != 1 {
		t.Errorf("a sample of almost all: %s", got)
	}
}

// HBase's clients send such expressions for columns and values that are empty.
func TestEmptyExpressionsKeepEmptyQualifiersAndValues(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	m := bigtable.NewMutation()
	m.Set("f", "", 1000, []byte("v"))
	m.Set("f", "x", 1000, nil)
	m.Set("f", "y", 1000, []byte("w"))
	r.must(tab.Apply(r.ctx(), "a", m))
	for kind, want := range map[string]string{"qualifier": "a: f.@1=v", "value": "a: f.x@1="} {
		got, err := r.chunksOf(&bigtablepb.ReadRowsRequest{TableName: tableT, Filter: regexOf(kind, "")})
		r.must(err)
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", kind, got, want)
		}
	}
}

// A request of 500 bytes asks for 10^9 copies of a cell.
func TestAFilterThatMultipliesIsRefused(t *testing.T) {
	r := newRig(t)
	r.set(r.table("t", "f"), "k", "f:x=1")
	ten := interleave(slices.Repeat([]*rowFilter{constantOf("pass", true)}, 10)...)
	f := chain(slices.Repeat([]*rowFilter{ten}, 9)...)
	if _, err := r.chunksOf(&bigtablepb.ReadRowsRequest{TableName: tableT, Filter: f}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("read: %v", err)
	}
	_, err := bigtablepb.NewBigtableClient(r.conn).CheckAndMutateRow(r.ctx(), &bigtablepb.CheckAndMutateRowRequest{TableName: tableT, RowKey: []byte("k"), PredicateFilter: f,
		TrueMutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}}}})
	if status.Code(err) == codes.OK {
		t.Error("a conditional write with such a condition succeeds")
	}
}

func TestFiltersThatAreRefused(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	deep := constantOf("pass", true)
	for range 21 {
		deep = chain(deep, constantOf("pass", true))
	}
	for name, c := range map[string]struct {
		f    *rowFilter
		part string
	}{
		"chain of one":         {chain(label("a")), "Chain must contain at least two RowFilters"},
		"empty interleave":     {interleave(), "Interleave must contain at least two RowFilters"},
		"no predicate":         {conditionOf(nil, label("a"), nil), "predicate"},
		"false pass":           {constantOf("pass", false), "pass_all_filter must be true if set"},
		"false block":          {constantOf("block", false), "block_all_filter must be true if set"},
		"false sink":           {constantOf("sink", false), "sink must be true if set"},
		"false strip":          {constantOf("strip", false), "strip_value_transformer must be true if set"},
		"empty row regex":      {regexOf("row", ""), "'row_key_regex_filter' : argument must not be empty"},
		"empty family regex":   {regexOf("family", ""), "family_name_regex_filter"},
		"bad value regex":      {regexOf("value", "["), "value_regex"},
		"bad qualifier regex":  {regexOf("qualifier", "*"), "column_qualifier_regex"},
		"colon in family":      {regexOf("family", "a:b"), "colon"},
		"sample of nothing":    {sample(0), "probability"},
		"sample of all":        {sample(1), "probability"},
		"sample of NaN":        {sample(math.NaN()), "probability"},
		"no cells per row":     {limits("row", 0), "at least 1"},
		"no cells per column":  {limits("column", -1), "at least 1"},
		"negative offset":      {limits("offset", -1), "at least 0"},
		"inverted columns":     {columns("f", "b", "a"), "after end"},
		"columns of no family": {columns("", "a", "b"), "family"},
		"inverted values":      {valueRange("b", "a"), "after end"},
		"inverted times":       {times(2000, 1000), "after end"},
		"negative time":        {times(-1, 1000), "timestamp"},
		"empty label":          {label(""), "label"},
		"long label":           {label("abcdefghijklmnop"), "label"},
		"label in capitals":    {label("A"), "label"},
		"empty mask":           {bitmask(""), "mask"},
		"too deep":             {deep, "too deep"},
		"too large":            {regexOf("value", strings.Repeat("a", 20480)), "bytes"},
		"sink in a condition":  {conditionOf(constantOf("sink", true), label("a"), nil), "sink"},
		"two labels":           {chain(label("a"), label("b")), "label"},
	} {
		_, err := r.tryRead(&bigtablepb.ReadRowsRequest{TableName: tableT, Filter: c.f})
		refused(t, name, err, codes.InvalidArgument, c.part)
		_, err = bigtablepb.NewBigtableClient(r.conn).CheckAndMutateRow(r.ctx(), &bigtablepb.CheckAndMutateRowRequest{
			TableName: tableT, RowKey: []byte("k"), PredicateFilter: c.f, TrueMutations: []*bigtablepb.Mutation{setCell("f", "q", 0, "")}})
		refused(t, name+" as a predicate", err, codes.InvalidArgument, c.part)
	}
}

func TestRequestStatistics(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "g")
	for i := range 10 {
		r.set(tab, fmt.Sprintf("k%d", i), "f:x=1", "g:y=2")
	}
	var stats *bigtable.FullReadStats
	n := 0
	err := tab.ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(bigtable.Row) bool { n++; return true },
		bigtable.RowFilter(bigtable.ChainFilters(bigtable.ColumnFilter("x"), bigtable.ValueFilter("1"))),
		bigtable.WithFullReadStats(func(s *bigtable.FullReadStats) { stats = s }))
	r.must(err)
	s := stats.ReadIterationStats
	if s.RowsReturnedCount != 10 || s.RowsSeenCount != 10 || s.CellsReturnedCount != 10 || s.CellsSeenCount < 10 || stats.RequestLatencyStats.FrontendServerLatency <= 0 {
		t.Errorf("%+v %+v", s, stats.RequestLatencyStats)
	}
	for _, m := range r.read(&bigtablepb.ReadRowsRequest{TableName: tableT}) {
		if m.GetRequestStats() != nil {
			t.Error("statistics that nobody asked for")
		}
	}
}

// A read whose filter passes nothing reports its progress.
func TestLastScannedRow(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	var keys []string
	var ms []*bigtable.Mutation
	for i := range 25_000 {
		m := bigtable.NewMutation()
		m.Set("f", "x", 0, []byte{byte('0' + i%10)})
		keys, ms = append(keys, fmt.Sprintf("k%05d", i)), append(ms, m)
	}
	errs, err := tab.ApplyBulk(r.ctx(), keys, ms)
	if err != nil || errs != nil {
		t.Fatal(errs, err)
	}
	var scanned []string
	for _, m := range r.read(&bigtablepb.ReadRowsRequest{TableName: tableT, Filter: regexOf("value", "none")}) {
		scanned = append(scanned, string(m.GetLastScannedRowKey()))
	}
	if fmt.Sprint(scanned) != "[k09999 k19999]" {
		t.Errorf("last scanned rows: %v", scanned)
	}
	// The remaining cells stay in order, and the official client reads them.
	n := 0
	last := ""
	err = tab.ReadRows(r.ctx(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		if row.Key() <= last {
			t.Errorf("%s after %s", row.Key(), last)
		}
		last = row.Key()
		n++
		return true
	}, bigtable.RowFilter(bigtable.ValueFilter("[37]")))
	r.must(err)
	if n != 5000 {
		t.Errorf("%d rows", n)
	}
}

// A client that asks for it gets the key of the last scanned row, if a read returns no
// rows, also for a small read.
func TestLastScannedRowOfASmallRead(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	for _, key := range []string{"a", "b", "c"} {
		r.set(tab, key, "f:x="+key)
	}
	flags, err := proto.Marshal(&bigtablepb.FeatureFlags{LastScannedRowResponses: true})
	r.must(err)
	reads := []struct {
		filter  *rowFilter
		rows    *bigtablepb.RowSet
		reverse bool
		want    string
	}{
		{filter: regexOf("value", "none"), want: "[c]"},
		{filter: regexOf("value", "b"), want: "[ c]"},
		{filter: regexOf("value", "c"), want: "[]"},
		// These filters pass no cells of any row.
		{filter: constantOf("block", true), want: "[c]"},
		{filter: constantOf("block", true), reverse: true, want: "[a]"},
		{filter: constantOf("block", true), rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte("a"), []byte("b"), []byte("d")}}, want: "[b]"},
		{filter: constantOf("block", true), rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte("d")}}, want: "[]"},
		{filter: chain(regexOf("row", "a"), constantOf("block", true)), want: "[c]"},
		{filter: regexOf("family", "none"), want: "[c]"},
		{filter: chain(times(1000, 2000), times(2000, 3000)), want: "[c]"},
	}
	for _, read := range reads {
		for _, encoding := range []*base64.Encoding{base64.URLEncoding, base64.RawURLEncoding} {
			ctx := metadata.AppendToOutgoingContext(r.ctx(), "bigtable-features", encoding.EncodeToString(flags))
			stream, err := bigtablepb.NewBigtableClient(r.conn).ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: tableT, Rows: read.rows, Filter: read.filter, Reversed: read.reverse})
			r.must(err)
			var scanned []string
			for m, err := stream.Recv(); err != io.EOF; m, err = stream.Recv() {
				r.must(err)
				scanned = append(scanned, string(m.GetLastScannedRowKey()))
			}
			if got := fmt.Sprint(scanned); got != read.want {
				t.Errorf("%v of %v: last scanned rows %s, want %s", read.filter, read.rows, got, read.want)
			}
		}
	}
	if ms := r.read(&bigtablepb.ReadRowsRequest{TableName: tableT, Filter: regexOf("value", "none")}); len(ms) > 0 {
		t.Errorf("a client that does not ask gets %v", ms)
	}
}

// A scan has few messages, which are not too large.
func TestMessagesOfAScan(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	value := strings.Repeat("v", 1000)
	for i := range 40 {
		var keys []string
		var ms []*bigtable.Mutation
		for j := range 100 {
			m := bigtable.NewMutation()
			m.Set("f", "x", 0, []byte(value))
			keys, ms = append(keys, fmt.Sprintf("k%05d", 100*i+j)), append(ms, m)
		}
		if errs, err := tab.ApplyBulk(r.ctx(), keys, ms); err != nil || errs != nil {
			t.Fatal(errs, err)
		}
	}
	messages := r.read(&bigtablepb.ReadRowsRequest{TableName: tableT})
	rows := 0
	for _, m := range messages {
		if n := proto.Size(m); n > 1<<20 {
			t.Errorf("a message of %d bytes", n)
		}
		rows += len(m.GetChunks())
	}
	if rows != 4000 || len(messages) > 40 {
		t.Errorf("%d rows in %d messages", rows, len(messages))
	}
}

// A client that has seen enough ends the read.
func TestCanceledReads(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	for i := range 100 {
		r.set(tab, fmt.Sprintf("k%d", i), "f:x="+strings.Repeat("v", 50_000))
	}
	ctx, cancel := context.WithCancel(r.ctx())
	n := 0
	err := tab.ReadRows(ctx, bigtable.InfiniteRange(""), func(bigtable.Row) bool { n++; return n < 3 })
	cancel()
	if err != nil || n != 3 {
		t.Errorf("%d rows, %v", n, err)
	}
}
