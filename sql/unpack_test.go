package sql_test

import "testing"

func TestUnpack(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT * FROM UNPACK((SELECT _key, f['model'] AS m, g['even'] AS e FROM t(with_history => TRUE) WHERE _key < 'b'))`,
			"a1 757 NULL 2000\na1 old yes 1000\na2 758 NULL 2000\na2 old NULL 1000"},
		{`SELECT m, UNIX_MICROS(_timestamp) FROM UNPACK((SELECT f['model'] AS m FROM t(with_history => TRUE, latest_n => 1) WHERE _key = 'a1'))`, "757 2000"},
		{`SELECT * FROM UNPACK((SELECT f, n FROM t(with_history => TRUE) WHERE _key = 'a1'))`, "{model=757} {} 2000\n{model=old} {i=-2} 1000"},
		{`SELECT u.f['model'], u._timestamp FROM UNPACK((SELECT t.f FROM t(with_history => TRUE) WHERE t._key = 'a1')) AS u ORDER BY _timestamp`, "old 1000\n757 2000"},
		{`SELECT COUNT(*), SUM(i) FROM UNPACK((SELECT n['i'] AS i, f['model'] FROM t(with_history => TRUE)))`, "12 0"},
		{`SELECT MAX(_timestamp), COUNT(m) FROM UNPACK((SELECT f['model'] AS m FROM t(with_history => TRUE))) WHERE m = 'old'`, "1000 6"},
		{`SELECT k, x FROM UNPACK((SELECT _key AS k, f['model'] AS m FROM t(with_history => TRUE) |> WHERE k = 'c1')), UNNEST([1, 2]) AS x WHERE m != 'old'`, "c1 1\nc1 2"},
		{`SELECT x, m FROM UNPACK((SELECT x, f['model'] AS m FROM t(with_history => TRUE), UNNEST([1, 2]) AS x WHERE _key = 'c1')) WHERE _timestamp < TIMESTAMP_MILLIS(2)`, "1 old\n2 old"},
		{`FROM UNPACK((FROM t(with_history => TRUE) |> WHERE _key = 'a2')) |> SELECT f['model'], _timestamp |> LIMIT 1`, "758 2000"},
		{`SELECT * FROM UNPACK((SELECT _key, f['none'] AS x FROM t(with_history => TRUE)))`, ""},
		{`EXPLAIN SELECT m FROM UNPACK((SELECT f['model'] AS m FROM t(with_history => TRUE) WHERE _key = 'a1' AND f['model'] IS NOT NULL))`,
			"read 1 ranges of rows of t\n  from \"a1\" to \"a1\\x00\"\n  column f:model\nfilter rows\nselect 1 columns\nunpack\nselect 1 columns"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	for _, q := range []struct{ sql, want string }{
		{`SELECT * FROM UNPACK((SELECT _key, f FROM t))`, "UNPACK takes a query with the histories of columns or families: FROM table(with_history => TRUE) [at 1:15]"},
		{`SELECT * FROM UNPACK((SELECT 1))`, "UNPACK takes a query with the histories of columns or families: FROM table(with_history => TRUE) [at 1:15]"},
		{`SELECT f FROM UNPACK((SELECT _key, g FROM t(with_history => TRUE)))`, "Unrecognized name: f; the stage before has _key, g, _timestamp [at 1:8]"},
		{`SELECT * FROM UNPACK((SELECT * FROM UNPACK((SELECT f FROM t(with_history => TRUE)))))`, "UNPACK cannot stand in an UNPACK [at 1:15]"},
	} {
		if _, err := db.run(q.sql); err == nil || err.Error() != q.want {
			t.Errorf("%s\ngot  %v\nwant %s", q.sql, err, q.want)
		}
	}
}
