package views_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/value"
	"github.com/smolwc/smolwc/views"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openTable opens a database in a directory, "" for memory, with the table t.
func openTable(t *testing.T, dir string) *query.DB {
	t.Helper()
	o := query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}}
	db, err := query.OpenInMemory(o)
	if dir != "" {
		db, err = query.Open(dir, o)
	}
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func put(t *testing.T, db *query.DB, keys ...string) {
	t.Helper()
	for _, key := range keys {
		m := write.NewMutation()
		m.SetAt("f", "x", 1000, cells.Bytes([]byte(key[:1])))
		must(t, db.Table("t").Apply(t.Context(), key, m))
	}
}

// texts are the rows of a query, and the error at their end.
func texts(ctx context.Context, v *views.Views, text string, params ...sql.Param) (rows []string, err error) {
	res, err := v.Query(ctx, text, params...)
	if err != nil {
		return nil, err
	}
	for row, err := range res.Rows {
		if err != nil {
			return rows, err
		}
		rows = append(rows, fmt.Sprint(row...))
	}
	return rows, nil
}

func TestADatabaseHoldsItsViews(t *testing.T) {
	db := openTable(t, "")
	if held := views.Of(db); views.Of(db) != held || held == views.In(db, "projects/p/instances/i") {
		t.Error("one open database has several Views of one instance, or one of two")
	}
	ctx, v := t.Context(), views.Of(db)
	put(t, db, "a1", "a2", "b1")
	must(t, v.Create(ctx, views.View{Name: "counts", SQL: "SELECT f['x'] AS x, COUNT(*) AS n FROM t GROUP BY x", Materialized: true}))
	must(t, v.Create(ctx, views.View{Name: "big", SQL: "SELECT x FROM counts WHERE n > 1", Protected: true}))
	if got, err := texts(ctx, v, "SELECT * FROM big"); err != nil || !slices.Equal(got, []string{"[97]"}) {
		t.Errorf("the view has %q, %v", got, err)
	}
	var names []string
	must(t, v.Each(ctx, func(v views.View) bool { names = append(names, v.Name); return true }))
	if !slices.Equal(names, []string{"big", "counts"}) {
		t.Errorf("the views are %q", names)
	}
	for _, c := range []struct {
		do   func() error
		kind query.Kind
		want string
	}{
		{func() error { return v.Drop(ctx, views.View{Name: "big"}) }, query.KindFailedPrecondition, `drop view big: view "projects/local/instances/local/logicalViews/big" is protected from deletion`},
		{func() error { return v.Drop(ctx, views.View{Name: "none"}) }, query.KindNotFound, `drop view none: logical view "projects/local/instances/local/logicalViews/none" not found`},
		{func() error { return v.Create(ctx, views.View{Name: "t", SQL: "SELECT 1"}) }, query.KindAlreadyExists, `create view t: "t" is a table; queries could not tell a view of this name from it`},
		{func() error { return v.Create(ctx, views.View{Name: "counts", SQL: "SELECT _key FROM t"}) }, query.KindAlreadyExists, `create view counts: a view "counts" already exists`},
		{func() error { return v.Create(ctx, views.View{Name: "a/b", SQL: "SELECT _key FROM t"}) }, query.KindInvalidArgument, `create view a/b: view id "a/b" is not ^[_a-zA-Z0-9][-_.a-zA-Z0-9]*$`},
		{func() error { return v.Create(ctx, views.View{Name: "w", SQL: "SELECT _key FROM u"}) }, query.KindInvalidArgument, `create view w: Table not found: u [at 1:18]`},
		{func() error {
			return v.Alter(ctx, views.View{Name: "counts", Materialized: true, SQL: "SELECT _key, COUNT(*) AS n FROM t GROUP BY _key"})
		}, query.KindInvalidArgument, "change view counts: the query of a materialized view cannot be changed; delete the view and create it again"},
		{func() error { _, err := v.Query(ctx, "SELECT 1 +"); return err }, query.KindInvalidArgument, "query: Syntax error: expected an expression but got the end of the query [at 1:11]"},
	} {
		if err := c.do(); query.KindOf(err) != c.kind || fmt.Sprint(err) != c.want {
			t.Errorf("%v\ngot  %v, %v\nwant %s", query.KindOf(err), err, c.kind, c.want)
		}
	}
	must(t, v.Alter(ctx, views.View{Name: "big", SQL: "SELECT x FROM counts WHERE n > 0"}))
	if got, err := texts(ctx, v, "SELECT * FROM big"); err != nil || !slices.Equal(got, []string{"[97]", "[98]"}) {
		t.Errorf("after a change the view has %q, %v", got, err)
	}
	must(t, v.Drop(ctx, views.View{Name: "big"}))
	if _, err := views.Of(nil).Query(ctx, "SELECT 1"); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("without a database: %v", err)
	}
	var none context.Context
	if err := v.Create(none, views.View{Name: "n", SQL: "SELECT _key FROM t"}); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("without a context: %v", err)
	}
}

// Materialized views follow changes with the types that they cannot have as columns.
// Bigtable's hint reads a view before its table was read to its end; later it changes nothing.
func TestTheHintAllowIncompleteView(t *testing.T) {
	db := openTable(t, "")
	put(t, db, "a1", "a2", "b1")
	v := views.Of(db)
	must(t, v.Create(t.Context(), views.View{Name: "v", SQL: "SELECT f['x'] AS x, COUNT(*) AS n FROM t GROUP BY x", Materialized: true}))
	must(t, v.CatchUp(t.Context(), views.View{Name: "v"}))
	put(t, db, "b2")
	for _, text := range []string{
		"@{allow_incomplete_view = true} SELECT n FROM v WHERE x = b'b'",
		"SELECT n FROM v @{ALLOW_INCOMPLETE_VIEW=TRUE} AS w WHERE w.x = b'b'",
		"SELECT n FROM (SELECT x, n FROM v @{allow_incomplete_view=false}) WHERE x = b'b'",
	} {
		if rows, err := texts(t.Context(), v, text); err != nil || len(rows) != 1 || rows[0] != "2" {
			t.Errorf("%s: %q, %v", text, rows, err)
		}
	}
	for text, want := range map[string]string{
		"@{join_method=hash} SELECT n FROM v":            "the hint join_method is unknown; allow_incomplete_view is a hint [at 1:3]",
		"@{allow_incomplete_view=1} SELECT n FROM v":     "expected TRUE or FALSE",
		"SELECT n FROM v @{allow_incomplete_view=true x": "}",
		"SELECT n FROM v @{}":                            "the name of a hint",
	} {
		if _, err := texts(t.Context(), v, text); query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}
	for _, view := range []views.View{
		{Name: "w", SQL: "@{allow_incomplete_view=true} SELECT x FROM v"},
		{Name: "w", SQL: "SELECT f['x'] AS x, COUNT(*) AS n FROM t @{allow_incomplete_view=true} GROUP BY x", Materialized: true},
	} {
		if err := v.Create(t.Context(), view); err == nil || !strings.Contains(err.Error(), "has no hints") {
			t.Errorf("%s: %v", view.SQL, err)
		}
	}
}

func TestAMaterializedViewComputesWithEveryType(t *testing.T) {
	db := openTable(t, "")
	ctx, v := t.Context(), views.Of(db)
	put(t, db, "a1", "b1")
	for name, text := range map[string]string{
		"times":     "SELECT CAST(DATETIME '2024-01-31' + INTERVAL 1 MONTH AS STRING) AS at, COUNT(*) AS n, CAST(MAX(DATETIME(2024, 1, LENGTH(_key), 0, 0, 0)) AS STRING) AS last FROM t GROUP BY at",
		"decimals":  "SELECT f['x'] AS x, CAST(SUM(NUMERIC '0.1') AS STRING) AS s, CAST(AVG(NUMERIC '0.1') AS FLOAT64) AS a, CAST(MAX(INTERVAL 1 DAY) AS STRING) AS i FROM t GROUP BY x",
		"documents": "SELECT f['x'] AS x, COUNT(*) AS n, JSON_VALUE(ANY_VALUE(JSON '{\"b\": 1.0, \"a\": [2, null]}'), '$.b') AS b, TO_JSON_STRING(ANY_VALUE(TO_JSON(LENGTH(_key)))) AS l FROM t GROUP BY x",
	} {
		must(t, v.Create(ctx, views.View{Name: name, SQL: text, Materialized: true}))
	}
	check := func(text string, want ...string) {
		t.Helper()
		if got, err := texts(ctx, v, text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	check("SELECT at, n, last FROM times", "2024-02-29 00:00:0022024-01-02 00:00:00")
	check("SELECT s, a, i FROM decimals", "0.10.10-0 1 0:0:0", "0.10.10-0 1 0:0:0")
	check("SELECT n, b, l FROM documents", "11.02", "11.02")
	if err := v.Create(ctx, views.View{Name: "column", SQL: "SELECT f['x'] AS x, ANY_VALUE(JSON '1') AS j FROM t GROUP BY x", Materialized: true}); err == nil || !strings.Contains(err.Error(), "the column j is JSON; a column of a materialized view can be BYTES") {
		t.Errorf("a column of JSON: %v", err)
	}
	put(t, db, "a222", "a3")
	check("SELECT at, n, last FROM times", "2024-02-29 00:00:0042024-01-04 00:00:00")
	check("SELECT s, a, i FROM decimals", "0.30.10-0 1 0:0:0", "0.10.10-0 1 0:0:0")
	gone := write.NewMutation()
	gone.DeleteRow()
	must(t, db.Table("t").Apply(ctx, "a222", gone))
	check("SELECT at, n, last FROM times", "2024-02-29 00:00:0032024-01-02 00:00:00")
	check("SELECT s, a, i FROM decimals", "0.20.10-0 1 0:0:0", "0.10.10-0 1 0:0:0")
	check("SELECT n, b FROM documents", "21.0", "11.0")
}

// A query reads rows of a view when the view goes: it ends or fails, and says why.
func TestAViewIsDroppedWhileItIsQueried(t *testing.T) {
	db := openTable(t, "")
	ctx, v := t.Context(), views.Of(db)
	var keys []string
	for i := range 3000 {
		keys = append(keys, fmt.Sprintf("%c%06d", 'a'+i%26, i))
	}
	put(t, db, keys...)
	view := views.View{Name: "index", SQL: "SELECT f['x'] AS x, _key FROM t ORDER BY x, _key", Materialized: true}
	must(t, v.Create(ctx, view))
	res, err := v.Query(ctx, "SELECT _key FROM index")
	must(t, err)
	n := 0
	for _, err = range res.Rows {
		if n++; n == 1 {
			must(t, v.Drop(ctx, view))
		}
	}
	if kind := query.KindOf(err); err == nil && n != len(keys) || err != nil && kind != query.KindNotFound {
		t.Errorf("the query ended after %d rows with %v, %v", n, kind, err)
	}
	if _, err := v.Query(ctx, "SELECT _key FROM index"); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("a query of a view that is gone: %v", err)
	}
	// A view of the same name and another query is another view.
	must(t, v.Create(ctx, views.View{Name: "index", SQL: "SELECT f['x'] AS x, COUNT(*) AS n FROM t GROUP BY x", Materialized: true}))
	if got, err := texts(ctx, v, "SELECT n FROM index WHERE x = b'a'"); err != nil || !slices.Equal(got, []string{"116"}) {
		t.Errorf("the new view has %q, %v", got, err)
	}
}

// A query that is cancelled says so, and not that the query is wrong.
func TestACancelledQueryIsNoFaultOfTheQuery(t *testing.T) {
	db := openTable(t, "")
	put(t, db, "a1", "a2", "b1")
	for _, text := range []string{"SELECT _key FROM t", "SELECT _key FROM t ORDER BY _key DESC", "SELECT f['x'], COUNT(*) FROM t GROUP BY 1"} {
		ctx, cancel := context.WithCancel(t.Context())
		res, err := views.Of(db).Query(ctx, text)
		must(t, err)
		cancel()
		for _, err = range res.Rows {
			continue
		}
		if query.KindOf(err) != query.KindCanceled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", text, query.KindOf(err), err)
		}
		if _, err := views.Of(db).Query(ctx, text); query.KindOf(err) != query.KindCanceled {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A keeper makes rows follow the table while nobody reads the view, and a database that is
// only read then has them; it has nothing that was written later.
func TestAReaderBesideTheWriterSeesWhatTheKeeperKept(t *testing.T) {
	dir := t.TempDir()
	db := openTable(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	view := views.View{Name: "counts", SQL: "SELECT f['x'] AS x, COUNT(*) AS n FROM t GROUP BY x", Materialized: true}
	must(t, views.Of(db).Create(ctx, view))
	put(t, db, "a1", "a2", "b1")
	done := make(chan struct{})
	go func() { defer close(done); views.Of(db).Keep(ctx, nil) }()
	read := func() ([]string, error) {
		reader, err := query.OpenReadOnly(dir, query.Options{})
		must(t, err)
		defer reader.Close()
		return texts(t.Context(), views.Of(reader), "SELECT n FROM counts")
	}
	for {
		got, err := read()
		if err == nil && slices.Equal(got, []string{"2", "1"}) {
			break
		}
		if err != nil && query.KindOf(err) != query.KindFailedPrecondition {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	<-done
	put(t, db, "b2")
	if got, err := read(); query.KindOf(err) != query.KindFailedPrecondition || !errors.As(err, new(*views.Refusal)) {
		t.Errorf("after a write that nobody kept: %q, %v", got, err)
	}
	if got, err := texts(t.Context(), views.Of(db), "SELECT n FROM counts"); err != nil || !slices.Equal(got, []string{"2", "2"}) {
		t.Errorf("the writer reads %q, %v", got, err)
	}
}

func TestParametersOfGo(t *testing.T) {
	v := views.Of(openTable(t, ""))
	day, err := value.NewDate(2024, 2, 29)
	must(t, err)
	at := time.Date(2024, 2, 29, 1, 2, 3, 4000, time.FixedZone("", 3600))
	for _, c := range []struct {
		in   any
		want string
	}{
		{"é", "é STRING"}, {[]byte("b"), "[98] BYTES"}, {7, "7 INT64"}, {int64(-7), "-7 INT64"}, {float32(0.5), "0.5 FLOAT32"}, {0.1, "0.1 FLOAT64"}, {true, "true BOOL"},
		{at, "1709164923000004 TIMESTAMP"}, {cells.TimestampOf(at), "1709164923000004 TIMESTAMP"}, {day, "2024-02-29 DATE"},
		{value.Datetime(-1), "1969-12-31 23:59:59.999999 DATETIME"}, {value.NumericOf(-7), "-7 NUMERIC"}, {value.Interval{Months: 14, Days: -1, Micros: 500_000}, "1-2 -1 0:0:0.500 INTERVAL"},
		{value.JSON(`{"b": 1, "a": [2.50]}`), `{"a":[2.5],"b":1} JSON`}, {value.JSON("{"), `query: parameter @p: "{" is not JSON: unexpected end of JSON input`}, {value.JSON("123456789012345678901"), "query: parameter @p: the number 123456789012345678901 is neither an integer of 64 bits nor a FLOAT64; PARSE_JSON(…, wide_number_mode => 'round') makes the nearest FLOAT64 of it"},
		{[]string{"a", "b"}, "[a b] ARRAY<STRING>"}, {[]int64(nil), "[] ARRAY<INT64>"}, {[][]byte{{1}}, "[[1]] ARRAY<BYTES>"}, {[]bool{true}, "[true] ARRAY<BOOL>"}, {[]float64{1.5}, "[1.5] ARRAY<FLOAT64>"},
		{nil, "query: parameter @p: a value of Go's type <nil> is not supported"}, {uint8(1), "query: parameter @p: a value of Go's type uint8 is not supported"},
		{"\xff", "query: parameter @p: a STRING must be UTF-8; []byte are BYTES"},
		{time.Time{}.AddDate(-1, 0, 0), "query: parameter @p: a time in the year 0 is not a TIMESTAMP: years go from 1 to 9999"},
		{value.Datetime(math.MaxInt64), "query: parameter @p: a time in the year 294247 is not a DATETIME: years go from 1 to 9999"},
		{value.Date(math.MaxInt32), "query: parameter @p: a time in the year 5879611 has no DATE: years go from 1 to 9999"},
		{value.Interval{Days: 3_660_001}, "query: parameter @p: an INTERVAL of 3660001 days is out of range: up to 3660000 are allowed"},
	} {
		res, err := v.Query(t.Context(), "SELECT @p", sql.Param{Name: "p", Value: c.in})
		got := fmt.Sprint(err)
		if err == nil {
			for row, err := range res.All() {
				must(t, err)
				var of any
				must(t, row.Scan(&of))
				got = fmt.Sprint(of, " ", res.Columns[0].Type)
			}
		}
		if got != c.want {
			t.Errorf("%#v: %s, want %s", c.in, got, c.want)
		}
	}
	for _, c := range []struct {
		params []sql.Param
		want   string
	}{
		{nil, "query: query parameter @p has no "},
		{[]sql.Param{{Name: "p", Value: 1}, {Name: "p", Value: 2}}, "query: parameter @p has two values"},
	} {
		if _, err := v.Query(t.Context(), "SELECT @p", c.params...); !strings.HasPrefix(fmt.Sprint(err), c.want) {
			t.Errorf("%v: %v, want %s", c.params, err, c.want)
		}
	}
}

// A view shows the rows for which a parameter of the view asks; the query cannot name it.
func TestParametersOfViews(t *testing.T) {
	v := views.Of(openTable(t, ""))
	must(t, v.Create(t.Context(), views.View{Name: "mine", SQL: "SELECT VIEW_PARAMETERS('user') AS u FROM (SELECT COUNT(*) AS n FROM t)"}))
	for _, c := range []struct {
		params []sql.Param
		want   string
	}{
		{[]sql.Param{{Name: "user", Value: "ann", OfView: true}, {Name: "user", Value: "ignored by the view"}}, "ann"},
		{[]sql.Param{{Name: "user", Value: "ann"}}, `query: view mine: the view parameter "user" has no value`},
		{[]sql.Param{{Name: "user", Value: 1, OfView: true}}, `query: view parameter "user": its value is not a string`},
		{[]sql.Param{{Name: "user", Value: "a", OfView: true}, {Name: "user", Value: "a", OfView: true}}, `query: view parameter "user" has two values`},
		{[]sql.Param{{Name: "user", Value: "\xff", OfView: true}}, `query: view parameter "user": a STRING must be UTF-8`},
	} {
		res, err := v.Query(t.Context(), "SELECT u FROM mine", c.params...)
		got := fmt.Sprint(err)
		if err == nil {
			for row, err := range res.All() {
				must(t, err)
				must(t, row.Scan(&got))
			}
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.params, got, c.want)
		}
	}
}

// Scan converts no value: what is not of the type is an error, never a number that looks right.
func TestScanTakesOnlyItsTypes(t *testing.T) {
	v := views.Of(openTable(t, ""))
	res, err := v.Query(t.Context(), "SELECT 7 AS i, 1.5 AS f, CAST(0.25 AS FLOAT32) AS r, 'x' AS s, b'y' AS b, TRUE AS t, TIMESTAMP '2024-01-01' AS at, DATE '2024-01-02' AS d, [1] AS a, STRUCT(2 AS z) AS st, CAST(NULL AS INT64) AS n, 1 AS two, 2 AS two, NUMERIC '1.5' AS num, INTERVAL 1 DAY AS age, DATETIME '2024-01-02' AS dt, JSON '{\"a\": 1}' AS j, JSON 'null' AS k, CAST(NULL AS JSON) AS l")
	must(t, err)
	for row, err := range res.All() {
		must(t, err)
		var (
			i   int64
			f   float64
			r   float32
			s   string
			b   []byte
			yes bool
			at  time.Time
			d   value.Date
			a   value.Array
			st  value.Struct
			n   *int64
			x   any
			y   *int64
			num value.Numeric
			age value.Interval
			dt  *value.Datetime
			j   value.JSON
			k   *value.JSON
			l   *value.JSON
		)
		must(t, row.Scan(&i, &f, &r, &s, &b, &yes, &at, &d, &a, &st, &n, &x, &y, &num, &age, &dt, &j, &k, &l))
		if got := fmt.Sprintln(i, f, r, s, string(b), yes, at, d, a, st, n == nil, x, *y, num, age, dt, j, *k, l == nil); got != "7 1.5 0.25 x y true 2024-01-01 00:00:00 +0000 UTC 2024-01-02 [1] [2] true 1 2 1.5 0-0 1 0:0:0 2024-01-02 00:00:00 {\"a\":1} null true\n" {
			t.Errorf("scanned %s", got)
		}
		if wide, err := sql.As[float64](row, "r"); err != nil || wide != 0.25 {
			t.Errorf("a FLOAT32 as float64: %v, %v", wide, err)
		}
		for want, err := range map[string]error{
			"column 1 (i) is INT64, which *float64 does not take":                           as[float64](row, "i"),
			"column 1 (i) is INT64, which *time.Time does not take":                         as[time.Time](row, "i"),
			"column 1 (i) is INT64, which *int does not take":                               as[int](row, "i"),
			"column 2 (f) is FLOAT64, which *int64 does not take":                           as[int64](row, "f"),
			"column 2 (f) is FLOAT64, which *float32 does not take":                         as[float32](row, "f"),
			"column 4 (s) is STRING, which *[]uint8 does not take":                          as[[]byte](row, "s"),
			"column 5 (b) is BYTES, which *string does not take":                            as[string](row, "b"),
			"column 7 (at) is TIMESTAMP, which *int64 does not take":                        as[int64](row, "at"),
			"column 8 (d) is DATE, which *time.Time does not take":                          as[time.Time](row, "d"),
			"column 11 (n) is NULL; a pointer to a pointer takes NULL, and *int64 does not": as[int64](row, "n"),
			`the result has no column "none"`:                                               as[int64](row, "none"),
			`the result has two columns "two"; give one another name with AS`:               as[int64](row, "two"),
			"column 14 (num) is NUMERIC, which *float64 does not take":                      as[float64](row, "num"),
			"column 17 (j) is JSON, which *string does not take":                            as[string](row, "j"),
			"the row has 19 columns, and Scan was given 1 places":                           row.Scan(&i),
		} {
			if fmt.Sprint(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

func as[T any](row *sql.Row, column string) error {
	_, err := sql.As[T](row, column)
	return err
}

// A condition on the groups of a materialized view chooses the rows that a join reads of it.
func TestJoinsReadOnlyTheGroupsThatAConditionDemands(t *testing.T) {
	db := openTable(t, "")
	v := views.Of(db)
	put(t, db, "a1", "a2", "b1")
	must(t, v.Create(t.Context(), views.View{Name: "counts", SQL: "SELECT f['x'] AS x, COUNT(*) AS n FROM t GROUP BY x", Materialized: true}))
	text := "SELECT c.n, t._key FROM counts AS c LEFT JOIN t ON t.f['x'] = c.x WHERE c.x = b'b'"
	if got, err := texts(t.Context(), v, text); err != nil || !slices.Equal(got, []string{"1 [98 49]"}) {
		t.Errorf("the rows are %q, %v", got, err)
	}
	plan, err := texts(t.Context(), v, "EXPLAIN "+text)
	if got := strings.Join(plan, "\n"); err != nil || !strings.Contains(got, "read 1 ranges of rows of counts") {
		t.Errorf("the plan is\n%s\n%v", got, err)
	}
}
