package server_test

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// Bigtable's client gets the rows of joins of tables and views, also of a query that it prepared.
func TestJoinsAreServed(t *testing.T) {
	r := newRig(t)
	planes, flights := r.table("planes", "f"), r.table("flights", "f")
	r.set(planes, "TF-FIR", "f:model=757")
	r.set(planes, "TF-FIA", "f:model=767")
	r.set(flights, "FI318", "f:plane=TF-FIR")
	r.set(flights, "FI319", "f:plane=TF-FIR")
	r.set(flights, "FI320", "f:plane=TF-GONE")
	r.must(r.logical("flown", "SELECT a._key AS flight, b.f['model'] AS model FROM flights AS a JOIN planes AS b ON a.f['plane'] = b._key"))
	r.must(r.materialize("counts", "SELECT f['plane'] AS plane, COUNT(*) AS n FROM flights GROUP BY plane"))
	c := r.client()
	for sql, want := range map[string]string{
		"SELECT a._key, b.f['model'] FROM flights AS a LEFT JOIN planes AS b ON a.f['plane'] = b._key ORDER BY 1":     "FI318 757\nFI319 757\nFI320 NULL",
		"SELECT flight, n FROM flown JOIN counts ON n = 2 ORDER BY flight":                                            "FI318 2\nFI319 2",
		"SELECT p._key, c.n FROM planes AS p LEFT JOIN counts AS c ON c.plane = p._key ORDER BY 1":                    "TF-FIA NULL\nTF-FIR 2",
		"SELECT _key FROM planes WHERE _key NOT IN (SELECT plane FROM counts)":                                        "TF-FIA",
		"WITH all_keys AS (SELECT _key FROM planes UNION ALL SELECT _key FROM flights) SELECT COUNT(*) FROM all_keys": "5",
		"SELECT a.flight FROM flown AS a JOIN flown AS b ON a.flight < b.flight":                                      "FI318",
		"SELECT (SELECT COUNT(*) FROM planes) + (SELECT COUNT(*) FROM flown)":                                         "4",
	} {
		r.wantQuery(c, sql, want)
	}
	got, err := r.query(c, "SELECT a._key FROM flights AS a JOIN planes AS b ON a.f['plane'] = b._key WHERE a._key > @after", map[string]bigtable.SQLType{"after": bigtable.BytesSQLType{}}, map[string]any{"after": []byte("FI318")})
	if got != "FI319" || err != nil {
		t.Errorf("with a parameter: %q, %v", got, err)
	}
	_, err = r.query(c, "SELECT 1 FROM planes JOIN none ON TRUE", nil, nil)
	r.wantCode(err, codes.InvalidArgument, "Table not found: none")
	r.wantCode(r.materialize("joined", "SELECT a._key AS k, COUNT(*) AS n FROM flights AS a JOIN planes ON TRUE GROUP BY k"), codes.InvalidArgument, "a materialized view cannot have a join")
	r.wantCode(r.materialize("nested", "SELECT _key AS k, (SELECT 1) AS n FROM flights GROUP BY k"), codes.InvalidArgument, "a materialized view cannot have a query in an expression")
}

// A token must have the right to every table of a query, wherever the query names it.
func TestQueriesNeedTheRightsToAllTheirTables(t *testing.T) {
	r, tokens := guarded(t)
	one := newToken(t, tokens, "one", time.Time{}, grant(server.Read, "mine"))
	both := newToken(t, tokens, "both", time.Time{}, grant(server.Read, "mine"), grant(server.Read, "other"))
	data := bigtablepb.NewBigtableClient(r.conn)
	for _, text := range []string{
		"SELECT a._key FROM mine AS a JOIN other AS b ON a._key = b._key",
		"SELECT _key FROM mine UNION ALL SELECT _key FROM other",
		"SELECT _key FROM mine WHERE _key IN (SELECT _key FROM other)",
		"SELECT EXISTS (SELECT 1 FROM other)",
		"SELECT CASE WHEN TRUE THEN (SELECT MAX(_key) FROM other) END FROM mine",
		"WITH o AS (SELECT _key FROM other) SELECT m._key FROM mine AS m, o",
		"WITH o AS (SELECT _key FROM other) SELECT 1 FROM mine",
		"SELECT * FROM (SELECT * FROM (SELECT _key FROM other))",
		"FROM mine |> SELECT _key |> JOIN other USING (_key)",
		"FROM mine |> EXTEND ARRAY(SELECT _key FROM other) AS x",
		"SELECT COUNT(*) FROM mine GROUP BY (SELECT MAX(_key) FROM other)",
		"SELECT _key FROM mine ORDER BY (SELECT MAX(_key) FROM other), _key",
		"SELECT e FROM mine, UNNEST(ARRAY(SELECT _key FROM other)) AS e",
		"SELECT * REPLACE ((SELECT MAX(_key) FROM other) AS _key) FROM mine",
	} {
		prepare := func(secret string) error {
			_, err := data.PrepareQuery(r.with(secret), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: text})
			return err
		}
		if text != "WITH o AS (SELECT _key FROM other) SELECT 1 FROM mine" { // which does not read it
			r.wantCode(prepare(one), codes.PermissionDenied, "other")
		}
		if err := prepare(both); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A server for queries of Bigtable refuses all others, with a place.
func TestBigtablesSQL(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := serve(t, db, server.Options{Instance: parent, BigtableSQL: true})
	r.table("t", "f")
	data := bigtablepb.NewBigtableClient(r.conn)
	prepare := func(text string) error {
		_, err := data.PrepareQuery(context.Background(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: text})
		return err
	}
	for text, what := range map[string]string{
		"SELECT 1 FROM t AS a JOIN t AS b ON TRUE": "does not have JOIN",
		"SELECT 1 FROM t AS a, t AS b":             "does not have two tables",
		"SELECT 1 FROM (SELECT 1)":                 "does not have a query in FROM",
		"WITH a AS (SELECT 1) SELECT 2":            "does not have WITH",
		"SELECT 1 UNION ALL SELECT 2":              "does not have UNION",
		"SELECT 1 IN (SELECT 2)":                   "does not have IN with a query",
		"SELECT EXISTS (SELECT 2)":                 "does not have EXISTS",
		"SELECT 1 + (SELECT 2)":                    "[at 1:12]",
		"FROM t |> JOIN t AS b ON TRUE":            "does not have JOIN",
	} {
		r.wantCode(prepare(text), codes.InvalidArgument, what)
	}
	for _, text := range []string{"SELECT _key, e FROM t, UNNEST([1]) AS e", "SELECT * FROM UNPACK((SELECT f FROM t(with_history => TRUE)))", "FROM t |> CROSS JOIN UNNEST([1])"} {
		if err := prepare(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
