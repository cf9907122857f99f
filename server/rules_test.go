package server_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

const tableT = parent + "/tables/t"

func setCell(family, qualifier string, ts int64, value string) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
		FamilyName: family, ColumnQualifier: []byte(qualifier), TimestampMicros: ts, Value: []byte(value)}}}
}

func deleteRange(family, qualifier string, start, end int64) *bigtablepb.Mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{
		FamilyName: family, ColumnQualifier: []byte(qualifier),
		TimeRange: &bigtablepb.TimestampRange{StartTimestampMicros: start, EndTimestampMicros: end}}}}
}

// refused checks the code and a part of the message of an error.
func refused(t *testing.T, what string, err error, code codes.Code, part string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), part) {
		t.Errorf("%s: got %v, want %v with %q", what, err, code, part)
	}
}

func TestMutateRowRefuses(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	data := bigtablepb.NewBigtableClient(r.conn)
	many := make([]*bigtablepb.Mutation, 100_001)
	for i := range many {
		many[i] = setCell("f", "q", 1000, "")
	}
	ok := []*bigtablepb.Mutation{setCell("f", "q", 1000, "v")}
	for _, c := range []struct {
		what, table, key string
		mutations        []*bigtablepb.Mutation
		code             codes.Code
		part             string
	}{
		{"no table", "", "k", ok, codes.InvalidArgument, "is not the name of a table"},
		{"half a table", parent + "/tables/", "k", ok, codes.InvalidArgument, "is not the name of a table"},
		{"more than a table", tableT + "/x", "k", ok, codes.InvalidArgument, "is not the name of a table"},
		{"unknown table", parent + "/tables/nope", "k", ok, codes.NotFound, `table "projects/proj/instances/inst/tables/nope" not found`},
		{"unknown instance", "projects/x/instances/y/tables/t", "k", ok, codes.NotFound, "not found"},
		{"no key", tableT, "", ok, codes.InvalidArgument, "Row keys must be non-empty"},
		{"longest key", tableT, strings.Repeat("k", 4096), ok, codes.OK, ""},
		{"long key", tableT, strings.Repeat("k", 4097), ok, codes.InvalidArgument, "4097 bytes"},
		{"no mutations", tableT, "k", nil, codes.InvalidArgument, "No mutations provided"},
		{"empty mutation", tableT, "k", []*bigtablepb.Mutation{{}}, codes.InvalidArgument, "nothing to do"},
		{"most mutations", tableT, "k", many[1:], codes.OK, ""},
		{"many mutations", tableT, "k", many, codes.InvalidArgument, "100001 mutations"},
		{"unknown family", tableT, "k", []*bigtablepb.Mutation{setCell("nope", "q", 1000, "v")}, codes.NotFound, `column family "nope" not found`},
		{"longest qualifier", tableT, "k", []*bigtablepb.Mutation{setCell("f", strings.Repeat("q", 16384), 1000, "v")}, codes.OK, ""},
		{"long qualifier", tableT, "k", []*bigtablepb.Mutation{setCell("f", strings.Repeat("q", 16385), 1000, "v")}, codes.InvalidArgument, "16385 bytes"},
		{"empty qualifier", tableT, "k", []*bigtablepb.Mutation{setCell("f", "", 1000, "v")}, codes.OK, ""},
		{"server's timestamp", tableT, "k", []*bigtablepb.Mutation{setCell("f", "q", -1, "v")}, codes.OK, ""},
		{"timestamp 0", tableT, "k", []*bigtablepb.Mutation{setCell("f", "q", 0, "v")}, codes.OK, ""},
		{"negative timestamp", tableT, "k", []*bigtablepb.Mutation{setCell("f", "q", -2, "v")}, codes.InvalidArgument, "timestamp -2"},
		{"timestamp of half a millisecond", tableT, "k", []*bigtablepb.Mutation{setCell("f", "q", 1500, "v")}, codes.InvalidArgument, "granularity"},
		{"inverted time range", tableT, "k", []*bigtablepb.Mutation{deleteRange("f", "q", 2000, 1000)}, codes.InvalidArgument, "inverted or invalid timestamp range"},
		{"empty time range", tableT, "k", []*bigtablepb.Mutation{deleteRange("f", "q", 2000, 2000)}, codes.InvalidArgument, "inverted or invalid timestamp range"},
		{"add to no aggregate", tableT, "k", []*bigtablepb.Mutation{addToCell("f", "q", 0, 1)}, codes.InvalidArgument, "does not aggregate"},
		{"delete in an unknown family", tableT, "k", []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_DeleteFromFamily_{
			DeleteFromFamily: &bigtablepb.Mutation_DeleteFromFamily{FamilyName: "nope"}}}}, codes.NotFound, "not found"},
	} {
		_, err := data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: c.table, RowKey: []byte(c.key), Mutations: c.mutations})
		refused(t, c.what, err, c.code, c.part)
	}
	_, err := data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("big"),
		Mutations: []*bigtablepb.Mutation{setCell("f", "q", 1000, strings.Repeat("v", 100<<20+1))}})
	refused(t, "large value", err, codes.InvalidArgument, "104857601 bytes")
	if got := r.rows(tab, nil, nil...); strings.Contains(got, "big") {
		t.Error("the large value was written")
	}
}

func TestMutateRowsSaysWhatIsWrongWithEachRow(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	data := bigtablepb.NewBigtableClient(r.conn)
	mutate := func(req *bigtablepb.MutateRowsRequest) ([]string, error) {
		stream, err := data.MutateRows(r.ctx(), req)
		r.must(err)
		var got []string
		for {
			m, err := stream.Recv()
			if err != nil {
				if status.Code(err) == codes.Unknown {
					err = nil // the end
				}
				return got, err
			}
			for i, e := range m.GetEntries() {
				if int(e.GetIndex()) != i {
					t.Errorf("entry %d has index %d", i, e.GetIndex())
				}
				got = append(got, codes.Code(e.GetStatus().GetCode()).String())
			}
		}
	}
	entry := func(key string, ms ...*bigtablepb.Mutation) *bigtablepb.MutateRowsRequest_Entry {
		return &bigtablepb.MutateRowsRequest_Entry{RowKey: []byte(key), Mutations: ms}
	}
	got, err := mutate(&bigtablepb.MutateRowsRequest{TableName: tableT, Entries: []*bigtablepb.MutateRowsRequest_Entry{
		entry("a", setCell("f", "q", 1000, "1")),
		entry("b", setCell("f", "q", 1000, "1"), setCell("nope", "q", 1000, "1")),
		entry("", setCell("f", "q", 1000, "1")),
		entry("c"),
		entry("d", setCell("f", "q", 1001, "1")),
		entry("e", setCell("f", "q", 1000, "1")),
		entry("e", setCell("f", "q", 1000, "2")),
	}})
	r.must(err)
	if want := "OK NotFound InvalidArgument InvalidArgument InvalidArgument OK OK"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
	if got := r.rows(tab, nil); got != "a f:q@1000=1\ne f:q@1000=2" {
		t.Errorf("rows:\n%s", got)
	}
	_, err = mutate(&bigtablepb.MutateRowsRequest{TableName: tableT})
	refused(t, "no entries", err, codes.InvalidArgument, "No mutations provided")
	_, err = mutate(&bigtablepb.MutateRowsRequest{TableName: parent + "/tables/nope", Entries: []*bigtablepb.MutateRowsRequest_Entry{entry("a", setCell("f", "q", 0, ""))}})
	refused(t, "unknown table", err, codes.NotFound, "not found")
}

// A timestamp that the client library made is cut to the table's granularity. A
// timestamp of the user must be a multiple of it.
func TestTimestampsOfGranularities(t *testing.T) {
	r := newRig(t)
	data, admin := bigtablepb.NewBigtableClient(r.conn), adminpb.NewBigtableTableAdminClient(r.conn)
	for _, c := range []struct {
		granularity adminpb.Table_TimestampGranularity
		origin      bigtablepb.Mutation_TimestampOrigin
		ts, stored  int64 // stored is -1 when it is refused
	}{
		{adminpb.Table_MILLIS, bigtablepb.Mutation_CLIENT_AUTO_GENERATED, 2001, 2000},
		{adminpb.Table_MILLIS, bigtablepb.Mutation_USER_SPECIFIED, 2001, -1},
		{adminpb.Table_TIMESTAMP_GRANULARITY_UNSPECIFIED, bigtablepb.Mutation_TIMESTAMP_ORIGIN_UNSPECIFIED, 2001, -1},
		{adminpb.Table_MICROS, bigtablepb.Mutation_CLIENT_AUTO_GENERATED, 2001, 2001},
		{adminpb.Table_MICROS, bigtablepb.Mutation_USER_SPECIFIED, 2001, 2001},
	} {
		_, err := admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: "t",
			Table: &adminpb.Table{Granularity: c.granularity, ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}}})
		r.must(err)
		m := setCell("f", "q", c.ts, "v")
		m.TimestampOrigin = c.origin
		_, err = data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{m}})
		if c.stored < 0 {
			refused(t, c.origin.String(), err, codes.InvalidArgument, "granularity")
		} else {
			r.must(err)
			row, err := r.client().Open("t").ReadRow(r.ctx(), "k")
			r.must(err)
			if got := int64(row["f"][0].Timestamp); got != c.stored {
				t.Errorf("%v, %v: %d is stored as %d", c.granularity, c.origin, c.ts, got)
			}
		}
		_, err = admin.DeleteTable(r.ctx(), &adminpb.DeleteTableRequest{Name: tableT})
		r.must(err)
	}
}

// All mutations of a request without a timestamp share one, of a whole
// millisecond.
func TestServerTimestamps(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	_, err := bigtablepb.NewBigtableClient(r.conn).MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: tableT, RowKey: []byte("a"),
		Mutations: []*bigtablepb.Mutation{setCell("f", "x", -1, "1"), setCell("f", "y", -1, "2"), setCell("f", "x", -1, "3")}})
	r.must(err)
	row, err := tab.ReadRow(r.ctx(), "a")
	r.must(err)
	cells := row["f"]
	if len(cells) != 2 || cells[0].Timestamp != cells[1].Timestamp || string(cells[0].Value) != "3" {
		t.Errorf("cells: %v", cells)
	}
	if ts := cells[0].Timestamp; ts%1000 != 0 || ts <= 1_700_000_000_000_000 {
		t.Errorf("timestamp %d", ts)
	}
}

func TestReadRowsRefuses(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	rowRange := func(rr *bigtablepb.RowRange) *bigtablepb.ReadRowsRequest {
		return &bigtablepb.ReadRowsRequest{TableName: tableT, Rows: &bigtablepb.RowSet{RowRanges: []*bigtablepb.RowRange{rr}}}
	}
	closedOpen := func(start, end string) *bigtablepb.RowRange {
		return &bigtablepb.RowRange{StartKey: &bigtablepb.RowRange_StartKeyClosed{StartKeyClosed: []byte(start)}, EndKey: &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(end)}}
	}
	openOpen := func(start, end string) *bigtablepb.RowRange {
		return &bigtablepb.RowRange{StartKey: &bigtablepb.RowRange_StartKeyOpen{StartKeyOpen: []byte(start)}, EndKey: &bigtablepb.RowRange_EndKeyOpen{EndKeyOpen: []byte(end)}}
	}
	for _, c := range []struct {
		what string
		req  *bigtablepb.ReadRowsRequest
		code codes.Code
		part string
	}{
		{"unknown table", &bigtablepb.ReadRowsRequest{TableName: parent + "/tables/nope"}, codes.NotFound, "not found"},
		{"inverted range", rowRange(closedOpen("b", "a")), codes.InvalidArgument, "Error in element #0: start_key_closed must be less than end_key_open"},
		{"empty range", rowRange(closedOpen("a", "a")), codes.OK, ""},
		{"empty open range", rowRange(openOpen("a", "a")), codes.OK, ""},
		{"no end", rowRange(closedOpen("b", "")), codes.OK, ""},
		{"negative limit", &bigtablepb.ReadRowsRequest{TableName: tableT, RowsLimit: -1}, codes.InvalidArgument, "rows_limit"},
		{"empty key", &bigtablepb.ReadRowsRequest{TableName: tableT, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{{}}}}, codes.InvalidArgument, "Row keys must be non-empty"},
		{"authorized view", &bigtablepb.ReadRowsRequest{AuthorizedViewName: tableT + "/authorizedViews/v"}, codes.NotFound, "authorized view"},
		{"materialized view", &bigtablepb.ReadRowsRequest{MaterializedViewName: parent + "/materializedViews/v"}, codes.NotFound, "materialized view"},
	} {
		_, err := r.tryRead(c.req)
		refused(t, c.what, err, c.code, c.part)
	}
}

func TestTableAdminRefuses(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	admin := adminpb.NewBigtableTableAdminClient(r.conn)
	create := func(id string, f *adminpb.ColumnFamily, family string) error {
		_, err := admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: id,
			Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{family: f}}})
		return err
	}
	gc := func(r *adminpb.GcRule) *adminpb.ColumnFamily { return &adminpb.ColumnFamily{GcRule: r} }
	versions := func(n int32) *adminpb.GcRule {
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: n}}
	}
	union := func(rs ...*adminpb.GcRule) *adminpb.GcRule {
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: rs}}}
	}
	var many []*adminpb.GcRule
	for i := range int32(200) {
		many = append(many, versions(1000+i))
	}
	for _, c := range []struct {
		what string
		err  error
		code codes.Code
		part string
	}{
		{"existing table", create("t", nil, "f"), codes.AlreadyExists, "already exists"},
		{"longest id", create(strings.Repeat("x", 50), nil, "f"), codes.OK, ""},
		{"long id", create(strings.Repeat("x", 51), nil, "f"), codes.InvalidArgument, "51 characters"},
		{"no id", create("", nil, "f"), codes.InvalidArgument, "table id"},
		{"id with a slash", create("a/b/c", nil, "f"), codes.InvalidArgument, "table id"},
		{"id that begins with a dash", create("-a", nil, "f"), codes.InvalidArgument, "table id"},
		{"id that begins with an underline", create("_a", nil, "f"), codes.OK, ""},
		{"family that begins with a dash", create("dash", nil, "-f.x"), codes.OK, ""},
		{"family with a colon", create("colon", nil, "f:x"), codes.InvalidArgument, "column family"},
		{"no family", create("nofamily", nil, ""), codes.InvalidArgument, "column family"},
		{"no versions", create("v0", gc(versions(0)), "f"), codes.InvalidArgument, "max_num_versions"},
		{"no age", create("a0", gc(&adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: durationpb.New(0)}}), "f"), codes.InvalidArgument, "max_age"},
		{"union of one", create("u1", gc(union(versions(1))), "f"), codes.InvalidArgument, "at least two"},
		{"large rule", create("u200", gc(union(many...)), "f"), codes.InvalidArgument, "500"},
	} {
		refused(t, c.what, c.err, c.code, c.part)
	}
	modify := func(ms ...*adminpb.ModifyColumnFamiliesRequest_Modification) error {
		_, err := admin.ModifyColumnFamilies(r.ctx(), &adminpb.ModifyColumnFamiliesRequest{Name: tableT, Modifications: ms})
		return err
	}
	created := func(id string) *adminpb.ModifyColumnFamiliesRequest_Modification {
		return &adminpb.ModifyColumnFamiliesRequest_Modification{Id: id, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: &adminpb.ColumnFamily{}}}
	}
	dropped := func(id string) *adminpb.ModifyColumnFamiliesRequest_Modification {
		return &adminpb.ModifyColumnFamiliesRequest_Modification{Id: id, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Drop{Drop: true}}
	}
	updated := func(id string, paths ...string) *adminpb.ModifyColumnFamiliesRequest_Modification {
		return &adminpb.ModifyColumnFamiliesRequest_Modification{Id: id, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
			Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Update{Update: &adminpb.ColumnFamily{}}}
	}
	refused(t, "existing family", modify(created("f")), codes.AlreadyExists, "already exists")
	refused(t, "drop of no family", modify(created("g"), dropped("nope")), codes.NotFound, "not found")
	refused(t, "update of no family", modify(created("g"), updated("nope")), codes.NotFound, "not found")
	refused(t, "mask", modify(created("g"), updated("f", "stats")), codes.InvalidArgument, "UpdateMask")
	refused(t, "twice", modify(created("g"), dropped("g")), codes.InvalidArgument, "twice")
	refused(t, "nothing", modify(), codes.InvalidArgument, "No modifications")
	got, err := admin.GetTable(r.ctx(), &adminpb.GetTableRequest{Name: tableT})
	r.must(err)
	if len(got.GetColumnFamilies()) != 1 {
		t.Errorf("a part of a refused request took effect: %v", got.GetColumnFamilies())
	}
	for what, err := range map[string]error{
		"get": func() error {
			_, err := admin.GetTable(r.ctx(), &adminpb.GetTableRequest{Name: parent + "/tables/nope"})
			return err
		}(),
		"delete": func() error {
			_, err := admin.DeleteTable(r.ctx(), &adminpb.DeleteTableRequest{Name: parent + "/tables/nope"})
			return err
		}(),
		"token": func() error {
			_, err := admin.GenerateConsistencyToken(r.ctx(), &adminpb.GenerateConsistencyTokenRequest{Name: parent + "/tables/nope"})
			return err
		}(),
		"drop": func() error {
			_, err := admin.DropRowRange(r.ctx(), &adminpb.DropRowRangeRequest{Name: parent + "/tables/nope", Target: &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}})
			return err
		}(),
	} {
		refused(t, what, err, codes.NotFound, "not found")
	}
}
