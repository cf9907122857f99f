package server_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (r *rig) instanceAdminPB() adminpb.BigtableInstanceAdminClient {
	return adminpb.NewBigtableInstanceAdminClient(r.conn)
}

func (r *rig) materialize(id, query string) error {
	_, err := r.instanceAdminPB().CreateMaterializedView(r.ctx(), &adminpb.CreateMaterializedViewRequest{
		Parent: parent, MaterializedViewId: id, MaterializedView: &adminpb.MaterializedView{Query: query},
	})
	return err
}

func (r *rig) wantQuery(c *bigtable.Client, sql, want string) {
	r.t.Helper()
	got, err := r.query(c, sql, nil, nil)
	if err != nil || got != want {
		r.t.Errorf("%s:\n%s, %v\nwant\n%s", sql, got, err, want)
	}
}

func (r *rig) wantCode(err error, code codes.Code, parts ...string) {
	r.t.Helper()
	if status.Code(err) != code {
		r.t.Errorf("error %v, want code %v", err, code)
	}
	for _, part := range parts {
		if !strings.Contains(fmt.Sprint(err), part) {
			r.t.Errorf("error %v lacks %q", err, part)
		}
	}
}

// What Bigtable's own test of the Go client expects.
func TestMaterializedViewIsReadRightAfterItsCreation(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "fam1")
	r.set(tab, "r1", "fam1:col1=1")
	r.must(r.materialize("v", "SELECT _key, count(fam1['col1']) as `result.count` FROM `t` GROUP BY _key"))
	mv := r.client().OpenMaterializedView("v")
	one := binary.BigEndian.AppendUint64(nil, 1)
	want := bigtable.Row{
		"result":  {{Row: "r1", Column: "result:count", Value: one}},
		"default": {{Row: "r1", Column: "default:"}},
	}
	got, err := mv.ReadRow(r.ctx(), "r1")
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || !reflect.DeepEqual(got["result"], want["result"]) {
		t.Errorf("read %v, %v; want %v", got, err, want)
	}
	if got, err := mv.ReadRow(r.ctx(), "r2"); len(got) > 0 || err != nil {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := mv.SampleRowKeys(r.ctx()); err != nil {
		t.Error(err)
	}
	r.set(tab, "r2", "fam1:col1=2")
	if got, err := mv.ReadRow(r.ctx(), "r2"); len(got) != 2 || err != nil {
		t.Errorf("after a write: %v, %v", got, err)
	}
	m := bigtable.NewMutation()
	m.DeleteRow()
	r.must(tab.Apply(r.ctx(), "r2", m))
	if got, err := mv.ReadRow(r.ctx(), "r2"); len(got) > 0 || err != nil {
		t.Errorf("after a delete: %v, %v", got, err)
	}
}

// The re-keyed form is a secondary index: by it, rows are found by a value.
func TestMaterializedViewIsASecondaryIndex(t *testing.T) {
	r := newRig(t)
	tab := r.table("users", "u")
	r.set(tab, "u1", "u:email=zoe@x", "u:name=Zoe")
	r.set(tab, "u2", "u:email=ann@x", "u:name=Ann")
	r.set(tab, "u3", "u:name=Nobody")
	r.must(r.materialize("by_email", `SELECT CAST(u['email'] AS STRING) AS email, _key AS user, u['name'] AS name FROM users ORDER BY email, user`))
	c := r.client()
	r.wantQuery(c, "SELECT * FROM by_email", "ann@x u2 Ann\nzoe@x u1 Zoe")
	r.wantQuery(c, "SELECT user FROM by_email WHERE email = 'zoe@x'", "u1")
	got, err := r.query(c, "EXPLAIN SELECT user FROM by_email WHERE email = 'zoe@x' AND name = b'Zoe'", nil, nil)
	if err != nil || !strings.Contains(got, `"zoe@x`) {
		t.Errorf("the plan is\n%s, %v", got, err)
	}
	r.set(tab, "u2", "u:email=bea@x")
	r.wantQuery(c, "SELECT email, name FROM by_email WHERE user = b'u2'", "bea@x Ann")
	if got := r.columnsIn(c.OpenMaterializedView("by_email"), bigtable.InfiniteRange("")); !reflect.DeepEqual(got, sorted([]string{
		"bea@x\x00\x01u2/default:", "bea@x\x00\x01u2/default:name", "zoe@x\x00\x01u1/default:", "zoe@x\x00\x01u1/default:name",
	})) {
		t.Errorf("rows: %q", got)
	}
}

func TestMaterializedViewsAreRefusedWithAReason(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	for query, reason := range map[string]string{
		"SELECT _key FROM t":          "a materialized view needs GROUP BY or ORDER BY",
		"SELECT COUNT(*) AS n FROM t": "'*' AS _key",
		"SELECT _key, COUNT(*) AS n FROM t GROUP BY _key ORDER BY _key":       "both GROUP BY and ORDER BY",
		"SELECT _key, COUNT(*) AS n FROM t GROUP BY _key LIMIT 3":             "LIMIT",
		"SELECT _key, COUNT(*) AS n FROM t GROUP BY _key HAVING COUNT(*) > 1": "HAVING",
		"SELECT DISTINCT _key FROM t GROUP BY _key":                           "DISTINCT",
		"SELECT * FROM t ORDER BY _key":                                       "SELECT *",
		"SELECT _key FROM t ORDER BY _key DESC":                               "DESC",
		"SELECT f['a'] AS a FROM t ORDER BY a":                                "must include _key",
		"SELECT _key FROM t ORDER BY _key, f['a']":                            "columns of SELECT",
		"SELECT COUNT(*) AS n FROM t GROUP BY _key":                           "columns of SELECT",
		"SELECT _key, COUNT(*) FROM t GROUP BY _key":                          "needs a name",
		"SELECT _key, f FROM t ORDER BY _key":                                 "can be BYTES",
		"SELECT _key, ARRAY_AGG(f['a']) AS a FROM t GROUP BY _key":            "ARRAY_AGG",
		"SELECT _key, COUNT(DISTINCT f['a']) AS a FROM t GROUP BY _key":       "DISTINCT",
		"SELECT _key, @p AS a FROM t ORDER BY _key":                           "parameter",
		"SELECT _key, 1 AS `a b.c` FROM t ORDER BY _key":                      "family",
		"FROM t |> WHERE TRUE":                                                "pipes",
		"SELECT _key FROM nowhere ORDER BY _key":                              "Table not found: nowhere",
		"SELECT _key FROM tt ORDER BY _key":                                   `did you mean "t"?`,
		"SELECT _key FROM t WHERE current_date > '2024-01-01' ORDER BY _key":  "CURRENT_DATE, whose value is not the same in every call",
		"SELECT _key FROM":                                                    "Syntax error",
		"":                                                                    "no query",
	} {
		r.wantCode(r.materialize("v", query), codes.InvalidArgument, reason)
	}
	r.wantCode(r.materialize("t", "SELECT _key FROM t ORDER BY _key"), codes.AlreadyExists, "is a table")
	r.wantCode(r.materialize("a/b", "SELECT _key FROM t ORDER BY _key"), codes.InvalidArgument, "id")
}

func TestMaterializedViewsFollowTheirTables(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "g")
	r.set(tab, "r1", "f:a=1", "g:a=1")
	r.must(r.materialize("v", "SELECT f['a'] AS a, COUNT(*) AS n FROM t GROUP BY a"))
	r.must(r.materialize("w", "SELECT g['a'] AS a, COUNT(*) AS n FROM t GROUP BY a"))
	c := r.client()
	r.wantQuery(c, "SELECT * FROM v", "1 1")
	r.wantQuery(c, "SELECT * FROM w", "1 1")
	r.wantCode(r.admin().DeleteTable(r.ctx(), "t"), codes.FailedPrecondition, "is read by the materialized view", "/v")

	r.must(r.admin().DeleteColumnFamily(r.ctx(), "t", "g"))
	_, err := r.query(c, "SELECT * FROM w", nil, nil)
	r.wantCode(err, codes.FailedPrecondition, "materialized view w", "no longer fits the table t", "g")
	_, err = c.OpenMaterializedView("w").ReadRow(r.ctx(), "1")
	r.wantCode(err, codes.FailedPrecondition, "materialized view w")
	r.set(tab, "r2", "f:a=1") // writes go on
	r.wantQuery(c, "SELECT * FROM v", "1 2")

	r.must(r.admin().CreateColumnFamily(r.ctx(), "t", "g"))
	r.wantQuery(c, "SELECT * FROM w", "")
	r.set(tab, "r2", "g:a=9")
	r.wantQuery(c, "SELECT * FROM w", "9 1")

	r.must(r.db.DropTable(r.ctx(), "proj/inst/t"))
	_, err = r.query(c, "SELECT * FROM v", nil, nil)
	r.wantCode(err, codes.FailedPrecondition, "the table t that it reads does not exist")
	r.table("t", "f")
	r.wantQuery(c, "SELECT * FROM v", "")
}

func TestMaterializedViewsAreNotWritten(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	r.set(tab, "r1", "f:a=1")
	r.must(r.materialize("v", "SELECT _key, f['a'] AS a FROM t ORDER BY _key"))
	m := bigtable.NewMutation()
	m.Set("default", "a", 0, []byte("x"))
	r.wantCode(r.client().Open("v").Apply(r.ctx(), "r1", m), codes.FailedPrecondition, "v is a view and not a table")
	r.wantCode(r.client().Open("nowhere").Apply(r.ctx(), "r1", m), codes.NotFound)
	_, err := r.admin().Tables(r.ctx())
	r.must(err)
	if tables, _ := r.admin().Tables(r.ctx()); !reflect.DeepEqual(tables, []string{"t"}) {
		t.Errorf("tables: %q", tables)
	}
	_, err = r.tableAdmin().GetTable(r.ctx(), &adminpb.GetTableRequest{Name: "projects/smolwc:views/instances/rows/tables/proj"})
	r.wantCode(err, codes.NotFound)
}

// Writers, readers of views, and clients that create and delete views do not wait for each
// other for ever, and in the end the views equal their queries.
func TestMaterializedViewsUnderManyClients(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	queries := map[string]string{
		"groups": "SELECT f['a'] AS a, COUNT(*) AS n, MAX(_key) AS last FROM t WHERE f['a'] IS NOT NULL GROUP BY a",
		"index":  "SELECT f['a'] AS a, _key AS k FROM t WHERE f['a'] IS NOT NULL ORDER BY a, k",
	}
	for id, query := range queries {
		r.must(r.materialize(id, query))
	}
	c := r.client()
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			for i := range 100 {
				m := bigtable.NewMutation()
				if (w+i)%7 == 0 {
					m.DeleteRow()
				} else {
					m.Set("f", "a", 1000, []byte{byte('a' + (w*i)%5)})
				}
				if err := tab.Apply(r.ctx(), fmt.Sprint("r", (w+i*i)%40), m); err != nil {
					t.Error(err)
				}
				// A client reads its own write, although others write too.
				own := fmt.Sprint("own", w, "-", i)
				if err := tab.Apply(r.ctx(), own, mutationOf("f", "a", "own")); err != nil {
					t.Error(err)
				}
				if i%20 == 0 {
					row, err := c.OpenMaterializedView("index").ReadRow(r.ctx(), "own\x00\x01"+own)
					if len(row) == 0 || err != nil {
						t.Errorf("the view does not have the client's row: %v, %v", row, err)
					}
				}
			}
		})
	}
	all.Go(func() {
		for i := range 5 {
			id := fmt.Sprint("short", i)
			if err := r.materialize(id, queries["index"]); err != nil {
				t.Error(err)
			}
			if err := r.instanceAdmin().DeleteMaterializedView(r.ctx(), instance, id); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	for id, query := range queries {
		want, err := r.query(c, query, nil, nil)
		r.must(err)
		got, err := r.query(c, "SELECT * FROM "+id, nil, nil)
		r.must(err)
		if !reflect.DeepEqual(sorted(strings.Split(got, "\n")), sorted(strings.Split(want, "\n"))) {
			t.Errorf("view %s is\n%s\nwant\n%s", id, got, want)
		}
	}
}

func mutationOf(family, qualifier, v string) *bigtable.Mutation {
	m := bigtable.NewMutation()
	m.Set(family, qualifier, 1000, []byte(v))
	return m
}
