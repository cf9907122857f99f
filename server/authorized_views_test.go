package server_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

var viewSeed = flag.Uint64("view.seed", 0, "seed of the random views; 0 is a random one")

const viewV = tableT + "/authorizedViews/v"

// subset is the columns of a family in a view.
func subset(qualifiers []string, prefixes ...string) *adminpb.AuthorizedView_FamilySubsets {
	return &adminpb.AuthorizedView_FamilySubsets{Qualifiers: byteStrings(qualifiers), QualifierPrefixes: byteStrings(prefixes)}
}

func byteStrings(texts []string) (all [][]byte) {
	for _, s := range texts {
		all = append(all, []byte(s))
	}
	return all
}

func subsetView(prefixes []string, families map[string]*adminpb.AuthorizedView_FamilySubsets) *adminpb.AuthorizedView {
	return &adminpb.AuthorizedView{AuthorizedView: &adminpb.AuthorizedView_SubsetView_{
		SubsetView: &adminpb.AuthorizedView_SubsetView{RowPrefixes: byteStrings(prefixes), FamilySubsets: families},
	}}
}

func (r *rig) tableAdmin() adminpb.BigtableTableAdminClient {
	return adminpb.NewBigtableTableAdminClient(r.conn)
}

func (r *rig) createView(table, id string, m *adminpb.AuthorizedView) error {
	_, err := r.tableAdmin().CreateAuthorizedView(r.ctx(), &adminpb.CreateAuthorizedViewRequest{
		Parent: parent + "/tables/" + table, AuthorizedViewId: id, AuthorizedView: m,
	})
	return err
}

// columnsIn are the cells that a read finds, as row/family:qualifier.
func (r *rig) columnsIn(t bigtable.TableAPI, rows bigtable.RowSet, opts ...bigtable.ReadOption) []string {
	r.t.Helper()
	var found []string
	r.must(t.ReadRows(r.ctx(), rows, func(row bigtable.Row) bool {
		for _, items := range row {
			for _, item := range items {
				found = append(found, item.Row+"/"+item.Column)
			}
		}
		return true
	}, opts...))
	return sorted(found)
}

// fillCells writes a cell for each row and column.
func (r *rig) fillCells(t *bigtable.Table, rows, columns []string) {
	r.t.Helper()
	for _, key := range rows {
		m := bigtable.NewMutation()
		for _, column := range columns {
			family, qualifier, _ := strings.Cut(column, ":")
			m.Set(family, qualifier, 1000, []byte("v"))
		}
		r.must(t.Apply(r.ctx(), key, m))
	}
}

// A view's users read a part of the table and change nothing else.
func TestAuthorizedViewBoundsEveryCall(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "g", "h")
	r.fillCells(tab, []string{"a1", "b1", "b2", "c1"}, []string{"f:q", "f:x1", "f:y", "g:q", "h:q"})
	r.must(r.createView("t", "v", subsetView([]string{"b", "c"}, map[string]*adminpb.AuthorizedView_FamilySubsets{
		"f": subset([]string{"q", "new"}, "x"), "g": subset(nil, ""),
	})))
	av, ctx := r.client().OpenAuthorizedView("t", "v"), r.ctx()

	everything := bigtable.InfiniteRange("")
	for _, c := range []struct {
		what string
		rows bigtable.RowSet
		opts []bigtable.ReadOption
		want string
	}{
		{"rows", bigtable.RowList{"a1", "b2"}, nil, "b2/f:q b2/f:x1 b2/g:q"},
		{"rows outside", bigtable.RowList{"a1"}, nil, ""},
		{"a range", bigtable.NewRange("a", "b2"), nil, "b1/f:q b1/f:x1 b1/g:q"},
		{"a reversed limit", everything, []bigtable.ReadOption{bigtable.ReverseScan(), bigtable.LimitRows(1)}, "c1/f:q c1/f:x1 c1/g:q"},
		{"a filter", everything, []bigtable.ReadOption{bigtable.RowFilter(bigtable.ColumnFilter("q|y"))}, "b1/f:q b1/g:q b2/f:q b2/g:q c1/f:q c1/g:q"},
		{"an interleave", everything, []bigtable.ReadOption{bigtable.LimitRows(1), bigtable.RowFilter(bigtable.InterleaveFilters(bigtable.FamilyFilter("h"), bigtable.FamilyFilter("g")))}, "b1/g:q"},
		{"a condition on a hidden column", everything, []bigtable.ReadOption{bigtable.RowFilter(bigtable.ConditionFilter(bigtable.FamilyFilter("h"), bigtable.PassAllFilter(), nil))}, ""},
	} {
		if got := strings.Join(r.columnsIn(av, c.rows, c.opts...), " "); got != c.want {
			t.Errorf("%s: read %q, want %q", c.what, got, c.want)
		}
	}

	mutation := func(change func(*bigtable.Mutation)) *bigtable.Mutation {
		m := bigtable.NewMutation()
		change(m)
		return m
	}
	set := func(family, qualifier string) *bigtable.Mutation {
		return mutation(func(m *bigtable.Mutation) { m.Set(family, qualifier, 2000, []byte("w")) })
	}
	append := func(family, qualifier string) *bigtable.ReadModifyWrite {
		m := bigtable.NewReadModifyWrite()
		m.AppendValue(family, qualifier, []byte("w"))
		return m
	}
	before := r.columnsIn(tab, everything)
	for what, err := range map[string]error{
		"a row outside":                 av.Apply(ctx, "a1", set("f", "q")),
		"a column outside":              av.Apply(ctx, "b1", set("f", "y")),
		"a family outside":              av.Apply(ctx, "b1", set("h", "q")),
		"a family that does not exist":  av.Apply(ctx, "b1", set("nope", "q")),
		"a delete of a column outside":  av.Apply(ctx, "b1", mutation(func(m *bigtable.Mutation) { m.DeleteCellsInColumn("f", "y") })),
		"a delete of a family in part":  av.Apply(ctx, "b1", mutation(func(m *bigtable.Mutation) { m.DeleteCellsInFamily("f") })),
		"a delete of a row in part":     av.Apply(ctx, "b1", mutation(func(m *bigtable.Mutation) { m.DeleteRow() })),
		"a condition on a row outside":  av.Apply(ctx, "a1", bigtable.NewCondMutation(bigtable.PassAllFilter(), set("f", "q"), nil)),
		"a branch outside":              av.Apply(ctx, "b1", bigtable.NewCondMutation(bigtable.PassAllFilter(), set("f", "q"), set("f", "y"))),
		"an append to a row outside":    last(av.ApplyReadModifyWrite(ctx, "a1", append("f", "q"))),
		"an append to a column outside": last(av.ApplyReadModifyWrite(ctx, "b1", append("f", "y"))),
	} {
		refused(t, what, err, codes.PermissionDenied, `authorized view "v" does not include`)
	}
	if after := r.columnsIn(tab, everything); !slices.Equal(before, after) {
		t.Errorf("refused writes changed the table: %v", after)
	}

	errs, err := av.ApplyBulk(ctx, []string{"b1", "a1", "b1"}, []*bigtable.Mutation{set("f", "new"), set("f", "new"), set("h", "q")})
	r.must(err)
	if len(errs) != 3 || errs[0] != nil || status.Code(errs[1]) != codes.PermissionDenied || status.Code(errs[2]) != codes.PermissionDenied {
		t.Errorf("errors of a bulk: %v", errs)
	}
	r.must(av.Apply(ctx, "b2", mutation(func(m *bigtable.Mutation) { m.DeleteCellsInFamily("g") })))
	var matched bool
	r.must(av.Apply(ctx, "b2", bigtable.NewCondMutation(bigtable.FamilyFilter("h"), set("f", "x2"), set("f", "x3")), bigtable.GetCondMutationResult(&matched)))
	if matched {
		t.Error("a condition saw a column outside of the view")
	}
	if got := strings.Join(r.columnsIn(tab, bigtable.NewRange("b", "c")), " "); got != "b1/f:new b1/f:q b1/f:x1 b1/f:y b1/g:q b1/h:q b2/f:q b2/f:x1 b2/f:x3 b2/f:y b2/h:q" {
		t.Errorf("after the writes: %s", got)
	}
	samples, err := av.SampleRowKeys(ctx)
	r.must(err)
	if got := strings.Join(samples, " "); got != "b1 b2 c1 d" {
		t.Errorf("samples %s", got)
	}
}

// The samples of a small table do not name rows whose cells a view does not show.
func TestSamplesOfAViewAreItsRows(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "hidden")
	r.fillCells(tab, []string{"a", "c"}, []string{"f:q"})
	r.fillCells(tab, []string{"b", "d", "e"}, []string{"hidden:q"})
	r.must(r.createView("t", "v", subsetView([]string{""}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset(nil, "")})))
	samples, err := r.client().OpenAuthorizedView("t", "v").SampleRowKeys(r.ctx())
	r.must(err)
	if got := strings.Join(samples, " "); got != "c" {
		t.Errorf("samples %q, want c", got)
	}
}

func last[T any](_ T, err error) error { return err }

// What a view hides has no name in the errors of its users: a family that is hidden and one
// that does not exist have the same, and none suggests another name.
func TestAnErrorThroughAViewNamesNoHiddenFamily(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "hidden")
	r.fillCells(tab, []string{"a"}, []string{"f:q", "hidden:q"})
	r.must(r.admin().CreateColumnFamily(r.ctx(), "t", "hiden"))
	r.must(r.createView("t", "v", subsetView([]string{""}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset(nil, ""), "hiden": subset(nil, "")})))
	r.must(r.admin().DeleteColumnFamily(r.ctx(), "t", "hiden"))
	data, view := bigtablepb.NewBigtableClient(r.conn), parent+"/tables/t/authorizedViews/v"
	mutate := func(m *bigtablepb.Mutation) error {
		ms := []*bigtablepb.Mutation{m}
		err := last(data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{AuthorizedViewName: view, RowKey: []byte("a"), Mutations: ms}))
		batch := last(smolwcpb.NewBatchesClient(r.conn).ApplyBatch(r.ctx(), &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{{AuthorizedViewName: view, RowKey: []byte("a"), Mutations: ms}}}))
		check := last(data.CheckAndMutateRow(r.ctx(), &bigtablepb.CheckAndMutateRowRequest{AuthorizedViewName: view, RowKey: []byte("a"), TrueMutations: ms, FalseMutations: ms}))
		return errors.Join(err, batch, check)
	}
	raw := func(text string) *bigtablepb.Value {
		return &bigtablepb.Value{Kind: &bigtablepb.Value_RawValue{RawValue: []byte(text)}}
	}
	at := &bigtablepb.Value{Kind: &bigtablepb.Value_RawTimestampMicros{RawTimestampMicros: 1000}}
	calls := map[string]func(family string) error{
		"set": func(family string) error {
			return mutate(&bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: family, ColumnQualifier: []byte("q"), TimestampMicros: -1}}})
		},
		"add": func(family string) error {
			return mutate(&bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_AddToCell_{AddToCell: &bigtablepb.Mutation_AddToCell{FamilyName: family, ColumnQualifier: raw("q"), Timestamp: at, Input: raw("12345678")}}})
		},
		"merge": func(family string) error {
			return mutate(&bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_MergeToCell_{MergeToCell: &bigtablepb.Mutation_MergeToCell{FamilyName: family, ColumnQualifier: raw("q"), Timestamp: at, Input: raw("12345678")}}})
		},
		"delete of a column": func(family string) error {
			return mutate(&bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{FamilyName: family, ColumnQualifier: []byte("q")}}})
		},
		"delete of a family": func(family string) error {
			return mutate(&bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromFamily_{DeleteFromFamily: &bigtablepb.Mutation_DeleteFromFamily{FamilyName: family}}})
		},
		"delete of the row": func(string) error {
			return mutate(&bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}})
		},
		"increment": func(family string) error {
			return last(data.ReadModifyWriteRow(r.ctx(), &bigtablepb.ReadModifyWriteRowRequest{AuthorizedViewName: view, RowKey: []byte("a"), Rules: []*bigtablepb.ReadModifyWriteRule{{FamilyName: family, ColumnQualifier: []byte("q"), Rule: &bigtablepb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: 1}}}}))
		},
	}
	for name, call := range calls {
		hidden, unknown := call("hidden"), call("nosuch")
		if hidden == nil || strings.ReplaceAll(hidden.Error(), "hidden", "nosuch") != unknown.Error() {
			t.Errorf("%s: %v, and of an unknown family %v", name, hidden, unknown)
		}
		if err := call("hiden"); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s of a family of the view that does not exist: %v", name, err)
		}
	}
}

// Without prefixes a view has no rows, and without families no columns.
func TestAuthorizedViewOfNothing(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "gone")
	r.fillCells(tab, []string{"a"}, []string{"f:q"})
	all := map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset(nil, "")}
	gone := map[string]*adminpb.AuthorizedView_FamilySubsets{"gone": subset(nil, "")}
	r.must(r.createView("t", "norows", subsetView(nil, all)))
	r.must(r.createView("t", "nocolumns", subsetView([]string{""}, nil)))
	r.must(r.createView("t", "noqualifiers", subsetView([]string{""}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": {}})))
	r.must(r.createView("t", "gone", subsetView([]string{""}, gone)))
	r.must(r.admin().DeleteColumnFamily(r.ctx(), "t", "gone"))
	for _, id := range []string{"norows", "nocolumns", "noqualifiers", "gone"} {
		av := r.client().OpenAuthorizedView("t", id)
		if got := r.columnsIn(av, bigtable.InfiniteRange("")); len(got) > 0 {
			t.Errorf("%s: read %v", id, got)
		}
		m := bigtable.NewMutation()
		m.DeleteRow()
		refused(t, id, av.Apply(r.ctx(), "a", m), codes.PermissionDenied, "does not include")
	}
}

// The cells that a random view shows are those of the table that its definition names.
func TestAuthorizedViewsAtRandom(t *testing.T) {
	r := newRig(t)
	seed := *viewSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-view.seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	text := func() string { return strings.Repeat("a", rng.IntN(3)) + strings.Repeat("b", rng.IntN(2)) }
	several := func(n int) (all []string) {
		for range rng.IntN(n) {
			all = append(all, text())
		}
		return all
	}
	tab := r.table("t", "f", "g")
	for range 12 {
		r.fillCells(tab, []string{"k" + text()}, []string{"f:" + text(), "g:" + text()})
	}
	cells := r.columnsIn(tab, bigtable.InfiniteRange(""))
	for i := range 40 {
		prefixes, families := several(3), map[string]*adminpb.AuthorizedView_FamilySubsets{}
		for j := range prefixes {
			prefixes[j] = "k" + prefixes[j]
		}
		for _, f := range []string{"f", "g"} {
			families[f] = subset(several(3), several(2)...)
		}
		id := fmt.Sprint("v", i)
		r.must(r.createView("t", id, subsetView(prefixes, families)))
		var want []string
		for _, cell := range cells {
			row, column, _ := strings.Cut(cell, "/")
			family, qualifier, _ := strings.Cut(column, ":")
			starts := func(s string) func([]byte) bool {
				return func(p []byte) bool { return strings.HasPrefix(s, string(p)) }
			}
			is := func(q []byte) bool { return string(q) == qualifier }
			if slices.ContainsFunc(byteStrings(prefixes), starts(row)) &&
				(slices.ContainsFunc(families[family].Qualifiers, is) || slices.ContainsFunc(families[family].QualifierPrefixes, starts(qualifier))) {
				want = append(want, cell)
			}
		}
		if got := r.columnsIn(r.client().OpenAuthorizedView("t", id), bigtable.InfiniteRange("")); !slices.Equal(got, want) {
			t.Fatalf("rows %q, columns %v: read %v, want %v", prefixes, families, got, want)
		}
	}
}

func TestAuthorizedViewAdmin(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	admin, ctx := r.tableAdmin(), r.ctx()
	some := subsetView([]string{"a"}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset([]string{"q"})})
	some.DeletionProtection = true
	r.must(r.createView("t", "v", some))
	get := func(detail adminpb.AuthorizedView_ResponseView) *adminpb.AuthorizedView {
		m, err := admin.GetAuthorizedView(ctx, &adminpb.GetAuthorizedViewRequest{Name: viewV, View: detail})
		r.must(err)
		return m
	}
	update := func(m *adminpb.AuthorizedView, paths ...string) error {
		m.Name = viewV
		_, err := admin.UpdateAuthorizedView(ctx, &adminpb.UpdateAuthorizedViewRequest{AuthorizedView: m, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		return err
	}
	remove := func(etag string) error {
		_, err := admin.DeleteAuthorizedView(ctx, &adminpb.DeleteAuthorizedViewRequest{Name: viewV, Etag: etag})
		return err
	}
	full := get(0)
	if full.GetName() != viewV || full.GetEtag() == "" || len(full.GetSubsetView().GetRowPrefixes()) != 1 {
		t.Errorf("the view is %v", full)
	}
	if m := get(adminpb.AuthorizedView_BASIC); m.GetSubsetView() != nil || !m.GetDeletionProtection() {
		t.Errorf("the basic view is %v", m)
	}
	large := subsetView([]string{strings.Repeat("k", 20_000)}, nil)
	strange := subsetView([]string{""}, map[string]*adminpb.AuthorizedView_FamilySubsets{"nope": {}})
	_, unknown := admin.GetAuthorizedView(ctx, &adminpb.GetAuthorizedViewRequest{Name: viewV + "x"})
	_, both := r.tryRead(&bigtablepb.ReadRowsRequest{TableName: tableT, AuthorizedViewName: viewV})
	_, missing := r.tryRead(&bigtablepb.ReadRowsRequest{AuthorizedViewName: viewV + "x"})
	for _, c := range []struct {
		what string
		err  error
		code codes.Code
		part string
	}{
		{"a second view of the name", r.createView("t", "v", some), codes.AlreadyExists, "already exists"},
		{"a view of no table", r.createView("nope", "v", some), codes.NotFound, "not found"},
		{"a view without a subset", r.createView("t", "w", &adminpb.AuthorizedView{}), codes.InvalidArgument, "subset_view"},
		{"an unknown family", r.createView("t", "w", strange), codes.InvalidArgument, `"nope"`},
		{"a large view", r.createView("t", "w", large), codes.InvalidArgument, "it may have up to 16384"},
		{"a wrong id", r.createView("t", "a/b", some), codes.InvalidArgument, "authorized view id"},
		{"an unknown view", unknown, codes.NotFound, "not found"},
		{"a read of an unknown view", missing, codes.NotFound, "not found"},
		{"a read of a view and a table", both, codes.InvalidArgument, "both"},
		{"an unknown field", update(&adminpb.AuthorizedView{}, "name"), codes.InvalidArgument, "update_mask"},
		{"an update without its subset", update(&adminpb.AuthorizedView{}, "*"), codes.InvalidArgument, "subset_view"},
		{"an update with an old etag", update(&adminpb.AuthorizedView{Etag: "old"}), codes.Aborted, "has changed"},
		{"a delete with an old etag", remove("old"), codes.Aborted, "has changed"},
		{"a delete of a protected view", remove(""), codes.FailedPrecondition, "protected"},
		{"a delete of its table", r.admin().DeleteTable(ctx, "t"), codes.FailedPrecondition, `view "v"`},
	} {
		refused(t, c.what, c.err, c.code, c.part)
	}
	r.must(update(subsetView([]string{"b", "c"}, nil), "subset_view.row_prefixes"))
	r.must(update(&adminpb.AuthorizedView{}, "deletion_protection"))
	if m := get(0); len(m.GetSubsetView().GetRowPrefixes()) != 2 || len(m.GetSubsetView().GetFamilySubsets()) != 1 || m.GetEtag() == full.GetEtag() {
		t.Errorf("after the update: %v", m)
	}
	r.must(r.createView("t", "w", some))
	page, err := admin.ListAuthorizedViews(ctx, &adminpb.ListAuthorizedViewsRequest{Parent: tableT, PageSize: 1})
	r.must(err)
	rest, err := admin.ListAuthorizedViews(ctx, &adminpb.ListAuthorizedViewsRequest{Parent: tableT, PageToken: page.GetNextPageToken(), View: adminpb.AuthorizedView_FULL})
	r.must(err)
	if len(page.GetAuthorizedViews()) != 1 || page.GetAuthorizedViews()[0].GetSubsetView() != nil || len(rest.GetAuthorizedViews()) != 1 || rest.GetAuthorizedViews()[0].GetSubsetView() == nil {
		t.Errorf("pages %v, %v", page, rest)
	}
	r.must(remove(get(0).GetEtag()))
	refused(t, "a second delete", remove(""), codes.NotFound, "not found")
}

// A view is part of its table: it stays when the server starts again, other servers of
// the database find it, and a new table of the name does not have it.
func TestAuthorizedViewsStayWithTheirTable(t *testing.T) {
	store := cftest.NewMemory()
	open := func() *rig {
		db, err := query.OpenStore(context.Background(), ofOthers{store}, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return serve(t, db, server.Options{})
	}
	a := open()
	a.fillCells(a.table("t", "f"), []string{"a", "b"}, []string{"f:q"})
	a.must(a.createView("t", "v", subsetView([]string{"b"}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset(nil, "")})))
	b := open()
	if got := b.columnsIn(b.client().OpenAuthorizedView("t", "v"), bigtable.InfiniteRange("")); !slices.Equal(got, []string{"b/f:q"}) {
		t.Errorf("read %v", got)
	}
	b.must(b.createView("t", "w", subsetView([]string{""}, nil)))
	_, err := a.tableAdmin().GetAuthorizedView(a.ctx(), &adminpb.GetAuthorizedViewRequest{Name: tableT + "/authorizedViews/w"})
	a.must(err)
	a.must(a.admin().DeleteTable(a.ctx(), "t"))
	a.table("t", "f")
	_, err = a.tableAdmin().GetAuthorizedView(a.ctx(), &adminpb.GetAuthorizedViewRequest{Name: viewV})
	refused(t, "a view of a deleted table", err, codes.NotFound, "not found")
}

// The right to a view is less than the right to its table.
func TestTokensOfAuthorizedViews(t *testing.T) {
	r, tokens := guarded(t)
	all := subsetView([]string{""}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset(nil, "")})
	r.must(r.createView("mine", "v", all))
	r.must(r.createView("mine", "w", all))
	var never time.Time
	reader := newToken(t, tokens, "reader", never, grant(server.Read, "mine@v"))
	writer := newToken(t, tokens, "writer", never, grant(server.Write, "mine@*"))
	table := newToken(t, tokens, "table", never, grant(server.Admin, "mine"))
	for _, g := range []server.Grant{grant(server.Admin, "mine@v"), grant(server.Read, "mine@"), grant(server.Read, "mine@a/b"), grant(server.Read, "@v")} {
		if err := g.Check(); err == nil {
			t.Errorf("%s of %s is accepted", g.Right, g.Tables)
		}
	}
	data := bigtablepb.NewBigtableClient(r.conn)
	const mine = parent + "/tables/mine"
	sample := func(view, table string) func(context.Context) error {
		return func(ctx context.Context) error {
			stream, err := data.SampleRowKeys(ctx, &bigtablepb.SampleRowKeysRequest{AuthorizedViewName: view, TableName: table})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}
	}
	write := func(view string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := data.MutateRow(ctx, &bigtablepb.MutateRowRequest{AuthorizedViewName: view, RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{setCell("f", "q", 1000, "v")}})
			return err
		}
	}
	get := func(view string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := r.tableAdmin().GetAuthorizedView(ctx, &adminpb.GetAuthorizedViewRequest{Name: view})
			return err
		}
	}
	update := func(view string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := r.tableAdmin().UpdateAuthorizedView(ctx, &adminpb.UpdateAuthorizedViewRequest{AuthorizedView: &adminpb.AuthorizedView{Name: view}})
			return err
		}
	}
	const v, w, denied = mine + "/authorizedViews/v", mine + "/authorizedViews/w", codes.PermissionDenied
	for i, c := range []struct {
		secret string
		call   func(context.Context) error
		code   codes.Code
	}{
		{reader, sample(v, ""), codes.OK},
		{reader, get(v), codes.OK},
		{reader, sample(w, ""), denied},
		{reader, sample("", mine), denied},
		{reader, sample(v, mine), denied},
		{reader, write(v), denied},
		{writer, write(v), codes.OK},
		{writer, write(w), codes.OK},
		{writer, sample("", mine), denied},
		{writer, update(v), denied},
		{table, write(w), codes.OK},
		{table, update(v), codes.OK},
		{table, sample(parent+"/tables/other/authorizedViews/v", ""), denied},
	} {
		if err := c.call(r.with(c.secret)); status.Code(err) != c.code {
			t.Errorf("call %d: got %v, want %v", i, err, c.code)
		}
	}
}
