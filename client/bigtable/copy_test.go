package bigtable

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// The environment of the process that TestKilledCopyGoesOn kills: where it copies to, from
// which address, and after how many steps it ends.
const envKilled = "SMOLWC_TEST_KILLED_COPY"

func TestMain(m *testing.M) {
	if how := strings.Fields(os.Getenv(envKilled)); len(how) == 3 {
		beKilled(how[0], how[1], how[2])
	}
	os.Exit(m.Run())
}

// An emulator is Bigtable's emulator in memory, as a source.
type emulator struct {
	t      *testing.T
	addr   string
	source *Source
	// fails, if it is set, is asked for the error of each message of ReadRows.
	fails atomic.Pointer[func(req *bigtablepb.ReadRowsRequest, number int) error]
	reads atomic.Int64 // calls of ReadRows
}

const parent = "projects/p/instances/i"

func newEmulator(t *testing.T) *emulator {
	t.Helper()
	e := &emulator{t: t}
	s, err := bttest.NewServer("127.0.0.1:0", grpc.MaxRecvMsgSize(256<<20), grpc.StreamInterceptor(e.intercept))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	e.addr, e.source = s.Addr, dial(t, s.Addr)
	return e
}

func dial(t *testing.T, addr string) *Source {
	t.Helper()
	s, err := Dial(t.Context(), Place{Project: "p", Instance: "i", Endpoint: addr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

type failing struct {
	grpc.ServerStream
	e      *emulator
	req    bigtablepb.ReadRowsRequest
	number int
}

func (e *emulator) intercept(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if !strings.HasSuffix(info.FullMethod, "/ReadRows") {
		return handle(srv, s)
	}
	e.reads.Add(1)
	return handle(srv, &failing{ServerStream: s, e: e})
}

func (f *failing) SendMsg(m any) error {
	if fails := f.e.fails.Load(); fails != nil {
		f.number++
		if err := (*fails)(&f.req, f.number); err != nil {
			return err
		}
	}
	return f.ServerStream.SendMsg(m)
}

func (e *emulator) create(table string, families map[string]*adminpb.ColumnFamily) {
	e.t.Helper()
	_, err := e.source.admin.CreateTable(e.t.Context(), &adminpb.CreateTableRequest{Parent: parent, TableId: table, Table: &adminpb.Table{ColumnFamilies: families}})
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *emulator) set(table, row, family, qualifier string, ts int64, value string) {
	e.t.Helper()
	e.mutate(table, row, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
		FamilyName: family, ColumnQualifier: []byte(qualifier), TimestampMicros: ts, Value: []byte(value),
	}}})
}

func (e *emulator) mutate(table, row string, ms ...*bigtablepb.Mutation) {
	e.t.Helper()
	_, err := e.source.data.MutateRow(e.t.Context(), &bigtablepb.MutateRowRequest{TableName: parent + "/tables/" + table, RowKey: []byte(row), Mutations: ms})
	if err != nil {
		e.t.Fatal(err)
	}
}

// fleet makes tables with most of what a source can have.
func (e *emulator) fleet(rows int) {
	e.create("fleet", map[string]*adminpb.ColumnFamily{
		"meta": {GcRule: &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: 3}}},
		"pii":  {},
		"miles": {ValueType: &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: &adminpb.Type_Aggregate{
			InputType:  &adminpb.Type{Kind: &adminpb.Type_Int64Type{Int64Type: &adminpb.Type_Int64{Encoding: &adminpb.Type_Int64_Encoding{Encoding: &adminpb.Type_Int64_Encoding_BigEndianBytes_{BigEndianBytes: &adminpb.Type_Int64_Encoding_BigEndianBytes{}}}}}},
			Aggregator: &adminpb.Type_Aggregate_Sum_{Sum: &adminpb.Type_Aggregate_Sum{}},
		}}}},
	})
	e.create("users", map[string]*adminpb.ColumnFamily{"pii": {}})
	for i := range rows {
		row := fmt.Sprintf("plane#%04d", i)
		e.set("fleet", row, "meta", "model", 2000, "757")
		e.set("fleet", row, "meta", "model", 1000, "737")
		e.set("fleet", row, "meta", "", 1000, strings.Repeat("x", i%50))
		e.set("fleet", row, "pii", "pilot", 1000, pilot(i))
		e.mutate("fleet", row, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_AddToCell_{AddToCell: &bigtablepb.Mutation_AddToCell{
			FamilyName: "miles", ColumnQualifier: &bigtablepb.Value{Kind: &bigtablepb.Value_RawValue{RawValue: []byte("flown")}},
			Timestamp: &bigtablepb.Value{Kind: &bigtablepb.Value_RawTimestampMicros{RawTimestampMicros: 1000}},
			Input:     &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: int64(i)}},
		}}})
		e.set("users", pilot(i), "pii", "name", 1000, pilot(i))
	}
}

// pilot is a name that nothing else contains.
func pilot(i int) string { return fmt.Sprintf("Zebedee-%04d", i) }

func openTarget(t *testing.T, dir string) *query.DB {
	t.Helper()
	db, err := query.Open(dir, query.Options{Durability: query.DurabilityAsync, GCInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func inMemory(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{GCInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// dump is the cells of a table, as text.
func dump(t *testing.T, db *query.DB, table string) []string {
	t.Helper()
	var all []string
	for c, err := range db.Table(table).ScanCells(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%q %s:%q@%d %v", c.Key, c.Family, c.Qualifier, int64(c.Timestamp), c.Value))
	}
	return all
}

func copyAll(t *testing.T, from *Source, to *query.DB, o Options) *Report {
	t.Helper()
	report, err := Copy(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, is, err := to.Unfinished(t.Context()); err != nil || is {
		t.Fatalf("the target is unfinished: %v, %v", is, err)
	}
	return report
}

// A whole instance: tables, families, rules, sums, versions, empty qualifiers and values.
func TestCopy(t *testing.T) {
	e := newEmulator(t)
	e.fleet(250) // the emulator splits at one row in a hundred
	db := inMemory(t)
	report := copyAll(t, e.source, db, Options{Verify: true, flushAt: 2000, noteAt: 5000})
	if got := report.Tables[0]; got.Table != "fleet" || got.Copied.Rows != 250 || got.Copied.Cells != 5*250 {
		t.Errorf("copied %+v", got)
	}
	if report.Different != 0 || !report.Verified || report.Tables[0].Source != report.Tables[0].Target || report.Tables[0].Source.Cells != 5*250 {
		t.Errorf("compared: %+v", report)
	}
	var want []string
	for i := range 250 {
		row := fmt.Sprintf("plane#%04d", i)
		want = append(want, fmt.Sprintf("%q meta:\"\"@1000 %v", row, cells.Bytes([]byte(strings.Repeat("x", i%50)))),
			fmt.Sprintf("%q meta:\"model\"@2000 %v", row, cells.Bytes([]byte("757"))), fmt.Sprintf("%q meta:\"model\"@1000 %v", row, cells.Bytes([]byte("737"))),
			fmt.Sprintf("%q miles:\"flown\"@1000 %v", row, cells.I64(int64(i))), fmt.Sprintf("%q pii:\"pilot\"@1000 %v", row, cells.Bytes([]byte(pilot(i)))))
	}
	if got := dump(t, db, "fleet"); !slices.Equal(got, want) {
		t.Errorf("got %d cells, as %q; want %d, as %q", len(got), got[:6], len(want), want[:6])
	}
	table, _ := db.LookupTable("fleet")
	if f, _ := table.Family("meta"); !f.GC.Equal(schema.MaxVersions(3)) || table.Retention != schema.Lazy {
		t.Errorf("meta has the rule %v, and the table retention %v", f.GC, table.Retention)
	}
	if f, _ := table.Family("miles"); f.Aggregate != schema.AggregateSum {
		t.Errorf("miles aggregates by %v", f.Aggregate)
	}
}

// Some tables, the rows with a prefix, and a sample: the rows whose keys hash lowest.
func TestPartOfAnInstance(t *testing.T) {
	e := newEmulator(t)
	e.fleet(300)
	db := inMemory(t)
	report := copyAll(t, e.source, db, Options{Tables: []string{"fleet"}, Prefix: "plane#00", Sample: 0.2, Verify: true, flushAt: 500})
	var want, got []string
	for i := range 100 {
		if key := fmt.Sprintf("plane#%04d", i); cf.RowHash(key) < uint64(math.Ldexp(0.2, 64)) {
			want = append(want, key)
		}
	}
	for row, err := range db.Table("fleet").ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row.Key())
	}
	if !slices.Equal(got, want) || len(want) < 5 {
		t.Errorf("got %q, want %q", got, want)
	}
	if report.Different != 0 || report.Tables[0].Source.Rows != int64(len(want)) {
		t.Errorf("compared: %+v", report)
	}
	if _, ok := db.LookupTable("users"); ok {
		t.Error("users was copied too")
	}
}

// Masked values are in no file of the target at any time, and equal values stay equal.
func TestMaskedValuesAreOnNoDisk(t *testing.T) {
	e := newEmulator(t)
	e.fleet(30)
	dir := t.TempDir()
	db := openTarget(t, dir)
	masks := []Mask{{"pii", "pil*", Hash}, {"*", "name", Hash}, {"meta", "model", Null}, {"miles", "*", Fake}}
	report := copyAll(t, e.source, db, Options{Masks: masks, Verify: true, flushAt: 500, noteAt: 500, MaskKey: []byte("0123456789abcdef"), Tables: []string{"fleet"}})
	if report.Different != 0 || len(report.Unmet) != 1 || report.Unmet[0] != masks[1] {
		t.Errorf("compared: %+v", report)
	}
	noSecret(t, dir) // in the log
	if err := db.Table("fleet").Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	noSecret(t, dir)
	row, err := db.Table("fleet").ReadRow(t.Context(), "plane#0007")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for c := range row.Cells() {
		got = append(got, fmt.Sprintf("%s:%s %v", c.Family, c.Qualifier, size(c.Value)))
	}
	if want := []string{"meta: 7", "meta:model 0", "meta:model 0", "miles:flown 8", "pii:pilot 32"}; !slices.Equal(got, want) {
		t.Errorf("the row has %q, want %q", got, want)
	}
}

// noSecret fails if a pilot's name is in a file of a directory.
func noSecret(t *testing.T, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("Zebedee")) {
			t.Errorf("%s has an unmasked value", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A mask about no family is refused before anything is read or created.
func TestMaskOfNoFamily(t *testing.T) {
	e := newEmulator(t)
	e.fleet(1)
	db := inMemory(t)
	_, err := Copy(t.Context(), e.source, db, Options{Masks: []Mask{{"pi", "*", Hash}}})
	if err == nil || err.Error() != "copy: the mask pi:*=hash is about no family; there are fleet/meta, fleet/miles, fleet/pii, users/pii" {
		t.Error(err)
	}
	if e.reads.Load() != 0 || len(db.Schema().Tables) != 0 {
		t.Errorf("%d reads; tables %v", e.reads.Load(), db.Schema().Tables)
	}
}

// The target's declared types are kept: values become numbers, and one that is no number is
// an error that names the cell, without the value if that is masked.
func TestDeclaredTypesParseStrictly(t *testing.T) {
	e := newEmulator(t)
	e.create("t", map[string]*adminpb.ColumnFamily{"f": {}})
	e.set("t", "a", "f", "n", 1000, string(binary.BigEndian.AppendUint64(nil, 42)))
	declared := func() *query.DB {
		db := inMemory(t)
		if err := db.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f", Type: cells.TypeI64}}}); err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := declared()
	copyAll(t, e.source, db, Options{Verify: true})
	if got := dump(t, db, "t"); got[0] != `"a" f:"n"@1000 42` {
		t.Error(got)
	}
	e.set("t", "b", "f", "n", 2000, "secret")
	_, err := Copy(t.Context(), e.source, declared(), Options{})
	if err == nil || err.Error() != `copy t "b": at 2000: f:"n": the value has 6 bytes; the family's type is i64, which has 8` {
		t.Error(err)
	}
	_, err = Copy(t.Context(), e.source, declared(), Options{Masks: []Mask{{"f", "*", Fake}}})
	if err == nil || err.Error() != `copy t "b": f:"n" at 2000 has a value that is no i64, the type of the target's family` {
		t.Error(err)
	}
}

// A copy goes on after reads that fail at any message, also within a row. A row that
// is sent again is in the target once, with its adds.
func TestReadsThatFail(t *testing.T) {
	e := newEmulator(t)
	e.fleet(120)
	r := rand.New(rand.NewPCG(1, 2))
	fails := func(_ *bigtablepb.ReadRowsRequest, number int) error {
		if number > 1 && r.IntN(3) == 0 {
			return status.Error(codes.Unavailable, "try again")
		}
		return nil
	}
	e.fails.Store(&fails)
	db := inMemory(t)
	report := copyAll(t, e.source, db, Options{flushAt: 1, noteAt: 300, Parallel: 1, Tables: []string{"fleet"}, pause: time.Millisecond})
	e.fails.Store(nil)
	if report.Tables[0].Copied.Rows != 120 {
		t.Errorf("copied %+v", report.Tables[0])
	}
	if report := copyAll(t, e.source, db, Options{Tables: []string{"fleet"}, Verify: true}); report.Different != 0 || !report.Found {
		t.Errorf("compared: %+v", report)
	}
}

// A source that fails for good, and one that refuses, are errors that name it, and the copy
// goes on when the source does.
func TestSourceThatFailsForGood(t *testing.T) {
	for _, fault := range []struct {
		err  error
		want string
		kind query.Kind
	}{
		{status.Error(codes.Unavailable, "gone"), "copy users: bigtable://p/i answers Unavailable: gone", query.KindUnavailable},
		{status.Error(codes.PermissionDenied, "no"), "copy users: bigtable://p/i answers PermissionDenied: no", query.KindFailedPrecondition},
		{status.Error(codes.NotFound, "no table"), "copy users: bigtable://p/i answers NotFound: no table", query.KindNotFound},
	} {
		e := newEmulator(t)
		e.fleet(3)
		fails := func(*bigtablepb.ReadRowsRequest, int) error { return fault.err }
		e.fails.Store(&fails)
		db := inMemory(t)
		o := Options{Tables: []string{"users"}, attempts: 2, pause: time.Millisecond}
		_, err := Copy(t.Context(), e.source, db, o)
		if err == nil || err.Error() != fault.want || query.KindOf(err) != fault.kind {
			t.Errorf("%v: %v", fault.err, err)
		}
		if _, is, _ := db.Unfinished(t.Context()); !is {
			t.Error("the target is not unfinished")
		}
		e.fails.Store(nil)
		if report := copyAll(t, e.source, db, o); !report.Resumed || len(dump(t, db, "users")) != 3 {
			t.Errorf("%+v", report)
		}
	}
}

// A row of more cells than a batch takes is copied.
func TestRowOfManyCells(t *testing.T) {
	e := newEmulator(t)
	e.create("t", map[string]*adminpb.ColumnFamily{"f": {}, "g": {}})
	const n = 2_000
	var ms []*bigtablepb.Mutation
	for i := range n {
		ms = append(ms, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: "f", ColumnQualifier: strconv.AppendInt(nil, int64(i), 10), TimestampMicros: 1000,
		}}})
	}
	e.mutate("t", "row", ms...)
	db := inMemory(t)
	report := copyAll(t, e.source, db, Options{Verify: true, flushAt: 1000})
	if got := report.Tables[0]; got.Copied.Cells != n || got.Target.Cells != n || report.Different != 0 {
		t.Errorf("%+v", report)
	}
}

// Which targets a copy refuses.
func TestTargets(t *testing.T) {
	e := newEmulator(t)
	e.fleet(2)
	whole := inMemory(t)
	o := Options{Tables: []string{"users"}, Masks: []Mask{{"pii", "*", Hash}}}
	copyAll(t, e.source, whole, o)
	full := inMemory(t)
	if err := full.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("f", "q", cells.I64(1))
	if err := full.Table("t").Apply(t.Context(), "r", m); err != nil {
		t.Fatal(err)
	}
	again := o
	again.Verify = true
	for _, c := range []struct {
		to   *query.DB
		o    Options
		want string
	}{
		{full, Options{}, "copy t: the target has rows; copy into a new database, or one whose tables are empty"},
		{whole, Options{}, "copy: the target is a copy of bigtable://p/i with the tables [users], not []; give the same, or copy into a new database"},
		{whole, o, "copy: the key of the masks in the target is gone or in a file; give that file, or copy into a new database, with a key in a file"},
		{whole, again, "copy: the key of the masks in the target is gone or in a file; give that file, or copy into a new database, with a key in a file"},
		{whole, Options{Tables: []string{"users"}, Sample: 0.5}, "copy: the target is a copy of bigtable://p/i with the sample 0, not 0.5; give the same, or copy into a new database"},
		{inMemory(t), Options{Tables: []string{"nothing"}}, `copy nothing: bigtable://p/i answers NotFound: table "projects/p/instances/i/tables/nothing" not found`},
		{inMemory(t), Options{MaskKey: []byte("short")}, "copy: the key of the masks has 5 bytes; it needs at least 16"},
		{inMemory(t), Options{Sample: 2}, "copy: the sample is 2; it is a share of the rows, above 0 and up to 1"},
		{nil, Options{}, "copy: there is no target"},
	} {
		if _, err := Copy(t.Context(), e.source, c.to, c.o); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
	plain := inMemory(t)
	copyAll(t, e.source, plain, Options{})
	if _, err := Copy(t.Context(), e.source, plain, Options{}); err == nil || err.Error() != "copy: the target is a whole copy of bigtable://p/i already; copy into a new database, or compare them with --verify" {
		t.Error(err)
	}
}

// A comparison names the rows that differ, of both sides, and leaves out what retention
// drops.
func TestVerifyNamesRows(t *testing.T) {
	e := newEmulator(t)
	e.create("t", map[string]*adminpb.ColumnFamily{"f": {GcRule: &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: durationpb.New(time.Hour)}}}})
	now := time.Now().UnixMilli() * 1000
	for _, row := range []string{"a", "b", "c", "d", "expired"} {
		at := now
		if row == "expired" {
			at = 1000
		}
		e.set("t", row, "f", "q", at, row)
	}
	db := inMemory(t)
	if report := copyAll(t, e.source, db, Options{Verify: true}); report.Different != 0 || report.Tables[0].Source.Rows != 4 {
		t.Errorf("%+v", report)
	}
	change := func(row string, do func(*write.Mutation)) {
		m := write.NewMutation()
		do(m)
		if err := db.Table("t").Apply(t.Context(), row, m); err != nil {
			t.Fatal(err)
		}
	}
	change("b", func(m *write.Mutation) { m.DeleteRow() })
	change("c", func(m *write.Mutation) { m.SetAt("f", "q", cells.Timestamp(now), cells.Bytes([]byte("x"))) })
	change("d", func(m *write.Mutation) { m.SetAt("f", "r", cells.Timestamp(now), cells.Bytes([]byte("x"))) })
	change("e", func(m *write.Mutation) { m.SetAt("f", "q", cells.Timestamp(now), cells.Bytes([]byte("x"))) })
	report := copyAll(t, e.source, db, Options{Verify: true})
	want := []Difference{{"t", "b", "is only in the source"}, {"t", "c", "has other cells in the target"}, {"t", "d", "has 1 cells in the source and 2 in the target"}, {"t", "e", "is only in the target"}}
	slices.SortFunc(report.Differences, func(a, b Difference) int { return strings.Compare(a.Row, b.Row) })
	if !slices.Equal(report.Differences, want) || report.Different != 4 {
		t.Errorf("got %+v", report.Differences)
	}
}

// The end of the context ends a copy from a source that does not answer.
func TestContextEndsACopy(t *testing.T) {
	e := newEmulator(t)
	e.fleet(5)
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	fails := func(*bigtablepb.ReadRowsRequest, int) error {
		cancel()
		<-release
		return nil
	}
	e.fails.Store(&fails)
	_, err := Copy(ctx, e.source, inMemory(t), Options{})
	close(release)
	if !errors.Is(err, context.Canceled) || query.KindOf(err) != query.KindCanceled {
		t.Error(err)
	}
}

// A copy that is killed after a step goes on with the next one, and in the end the two are
// equal: no row is missing, and no sum counts twice.
func TestKilledCopyGoesOn(t *testing.T) {
	e := newEmulator(t)
	e.fleet(120)
	dir := t.TempDir()
	for _, steps := range []string{"1", "3", "2"} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), envKilled+"="+e.addr+" "+dir+" "+steps)
		out, err := c.CombinedOutput()
		if _, ok := errors.AsType[*exec.ExitError](err); !ok || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
	}
	db := openTarget(t, dir)
	o := killedOptions
	o.Verify = true
	report := copyAll(t, e.source, db, o)
	if !report.Resumed || len(report.Unmet) > 0 || report.Different != 0 || report.Tables[0].Source.Cells != 5*120 || report.Tables[0].Copied != report.Tables[0].Source.Count {
		t.Errorf("%+v", report)
	}
	notes, err := db.Plumbing().Notes(t.Context(), "")
	if err != nil || len(notes) != 1 {
		t.Errorf("the target keeps notes: %v, %q", err, notes)
	}
}

var killedOptions = Options{Parallel: 1, flushAt: 400, noteAt: 1500, Masks: []Mask{{"pii", "*", Hash}}, MaskKey: []byte("a key that is kept")}

// beKilled copies, and kills its process after some steps.
func beKilled(addr, dir, steps string) {
	ctx := context.Background()
	left, err := strconv.Atoi(steps)
	if err != nil {
		panic(err)
	}
	from, err := Dial(ctx, Place{Project: "p", Instance: "i", Endpoint: addr})
	if err != nil {
		panic(err)
	}
	db, err := query.Open(dir, query.Options{Durability: query.DurabilityAsync, GCInterval: -1})
	if err != nil {
		panic(err)
	}
	o := killedOptions
	me, _ := os.FindProcess(os.Getpid())
	o.Progress = func(Progress) {
		if left--; left < 0 {
			_ = me.Kill()
			select {}
		}
	}
	_, err = Copy(ctx, from, db, o)
	panic(fmt.Sprint("the copy ended: ", err))
}

// URLs, and faults in them.
func TestParseURL(t *testing.T) {
	p, err := ParseURL("bigtable://shop.example:prod/main/?app_profile=batch&endpoint=127.0.0.1:8086")
	if want := (Place{Project: "shop.example:prod", Instance: "main", AppProfile: "batch", Endpoint: "127.0.0.1:8086"}); err != nil || p != want || p.String() != "bigtable://shop.example:prod/main" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "bigtable://", "bigtable://p", "bigtable://p/", "bigtable:///i", "bigtable://p/i/t", "big://p/i", "bigtable://p/i?x=1", "bigtable://p/i?endpoint=8086", "bigtable://p/i?%"} {
		if _, err := ParseURL(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Without credentials nothing is connected.
func TestMissingCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	if _, err := Dial(t.Context(), Place{Project: "p", Instance: "i"}); err == nil || !strings.Contains(err.Error(), "bigtable://p/i: Google's credentials: ") {
		t.Error(err)
	}
}
