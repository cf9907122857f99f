package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/server"
)

// query runs a query with the official client. Each row is a line of what the
// client makes of its columns.
func (r *rig) query(c *bigtable.Client, sql string, types map[string]bigtable.SQLType, params map[string]any) (string, error) {
	ps, err := c.PrepareStatement(r.ctx(), sql, types)
	if err != nil {
		return "", err
	}
	bs, err := ps.Bind(params)
	r.must(err)
	var lines []string
	err = bs.Execute(r.ctx(), func(row bigtable.ResultRow) bool {
		var values []string
		for i := range row.Metadata.Columns {
			var v any
			if err := row.GetByIndex(i, &v); err != nil {
				r.t.Error(err)
			}
			values = append(values, sqlText(v))
		}
		lines = append(lines, strings.Join(values, " "))
		return true
	})
	return strings.Join(lines, "\n"), err
}

func sqlText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		if v == nil {
			return "NULL" // an element of an array
		}
		return string(v)
	case bigtable.Struct:
		return structText(v)
	case map[string]*int64:
		var all []string
		for k, n := range v {
			name, _ := base64.StdEncoding.DecodeString(k)
			all = append(all, fmt.Sprintf("%s=%d", name, *n))
		}
		slices.Sort(all)
		return "{" + strings.Join(all, " ") + "}"
	case time.Time:
		return fmt.Sprint(v.UnixMicro())
	case map[string][]byte:
		var all []string
		for k, b := range v {
			name, _ := base64.StdEncoding.DecodeString(k)
			all = append(all, string(name)+"="+string(b))
		}
		slices.Sort(all)
		return "{" + strings.Join(all, " ") + "}"
	}
	switch value := reflect.ValueOf(v); {
	case value.Kind() == reflect.Slice:
		all := make([]string, value.Len())
		for i := range all {
			all[i] = sqlText(value.Index(i).Interface())
		}
		return "[" + strings.Join(all, " ") + "]"
	case value.Kind() == reflect.Pointer && value.IsNil():
		return "NULL"
	case value.Kind() == reflect.Pointer:
		return sqlText(value.Elem().Interface())
	}
	return fmt.Sprint(v)
}

// structText is the fields of a struct that has a few.
func structText(s bigtable.Struct) string {
	var all []string
	for _, name := range []string{"timestamp", "value", "a", "b", "x"} {
		var v any
		if s.GetByName(name, &v) == nil {
			all = append(all, name+":"+sqlText(v))
		}
	}
	return "{" + strings.Join(all, " ") + "}"
}

// sqlRig has the table t, of six planes. Family n is of integers.
func sqlRig(t *testing.T) (*rig, *bigtable.Client) {
	r := newRig(t)
	tab := r.table("t", "f", "g")
	r.must(r.admin().CreateColumnFamilyWithConfig(r.ctx(), "t", "n", bigtable.Family{ValueType: bigtable.Int64Type{Encoding: bigtable.BigEndianBytesEncoding{}}}))
	for i, key := range []string{"a1", "a2", "b1", "b2", "c1", "\xff\xff"} {
		m := bigtable.NewMutation()
		m.Set("f", "model", 1000, []byte("old"))
		m.Set("f", "model", 2000, fmt.Append(nil, 757+i))
		if i%2 == 0 {
			m.Set("g", "even", 1000, []byte("yes"))
			m.Set("n", "i", 1000, binary.BigEndian.AppendUint64(nil, uint64(int64(i-2))))
		}
		r.must(tab.Apply(r.ctx(), key, m))
	}
	return r, r.client()
}

func TestSQL(t *testing.T) {
	r, c := sqlRig(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT _key FROM t`, "a1\na2\nb1\nb2\nc1\n\xff\xff"},
		{`select _key from t limit 2;`, "a1\na2"},
		{`SELECT _key FROM t LIMIT 0`, ""},
		{`SELECT * FROM t WHERE _key = 'a1'`, "a1 {model=757} {even=yes} {i=-2}"},
		{`SELECT f['model'], g['even'], f['no'] FROM t WHERE _key < 'b'`, "757 yes NULL\n758 NULL NULL"},
		{`SELECT _key AS k, f['model'] m FROM t WHERE STARTS_WITH(_key, 'b')`, "b1 759\nb2 760"},
		{`SELECT _key FROM t WHERE STARTS_WITH(_key, b'\xff')`, "\xff\xff"},
		{`SELECT _key FROM t WHERE STARTS_WITH(_key, '')`, "a1\na2\nb1\nb2\nc1\n\xff\xff"},
		{`SELECT _key FROM t WHERE _key BETWEEN 'a2' AND 'b1'`, "a2\nb1"},
		{`SELECT _key FROM t WHERE _key NOT BETWEEN 'a2' AND 'c1'`, "a1\n\xff\xff"},
		{`SELECT _key FROM t WHERE 'a2' < _key AND _key <= 'b2'`, "b1\nb2"},
		{`SELECT _key FROM t WHERE _key >= 'b2' ORDER BY _key`, "b2\nc1\n\xff\xff"},
		{`SELECT _key FROM t WHERE _key > 'b2' ORDER BY _key DESC LIMIT 1`, "\xff\xff"},
		{`SELECT _key FROM t WHERE _key <= 'b2' ORDER BY _key DESC`, "b2\nb1\na2\na1"},
		{`SELECT _key FROM t WHERE _key IN ('c1', 'a1', 'nope')`, "a1\nc1"},
		{`SELECT _key FROM t WHERE _key NOT IN ('c1', 'a1', 'b1', b'\xff\377')`, "a2\nb2"},
		{`SELECT _key FROM t WHERE _key = 'a1' OR _key = 'c1' AND g['even'] = 'yes' OR STARTS_WITH(_key, 'b')`, "a1\nb1\nb2\nc1"},
		{`SELECT _key FROM t WHERE _key != 'a1' AND _key < 'b2'`, "a2\nb1"},
		{`SELECT _key FROM t WHERE _key = NULL`, ""},
		{`SELECT _key FROM t WHERE _key < ''`, ""},
		{`SELECT _key FROM t WHERE _key = 'a1' AND _key = 'a2'`, ""},
		{`SELECT _key FROM t WHERE g['even'] IS NOT NULL`, "a1\nb1\nc1"},
		{`SELECT _key FROM t WHERE NOT g['even'] = 'yes'`, ""}, // NULL is neither
		{`SELECT _key FROM t WHERE g['even'] IS NULL AND ENDS_WITH(_key, '2')`, "a2\nb2"},
		{`SELECT _key FROM t LIMIT 2 OFFSET 3`, "b2\nc1"},
		{`SELECT _key FROM t ORDER BY _key DESC LIMIT 2 OFFSET 5`, "a1"},
		{`SELECT _key FROM t WHERE g['even'] = 'yes' LIMIT 1 OFFSET 1`, "b1"},
		{`SELECT _key FROM t LIMIT 9 OFFSET 9`, ""},
		{`SELECT COUNT(*) FROM t`, "6"},
		{`SELECT count(*) AS n, COUNT(*) FROM t WHERE g['even'] IS NOT NULL AND _key < 'c'`, "2 2"},
		{`SELECT COUNT(*) FROM t WHERE _key = 'none' AND _key = 'nowhere'`, "0"},
		{`SELECT COUNT(*) FROM t LIMIT 0`, ""},
		{`SELECT COUNT(*) FROM t LIMIT 1 OFFSET 1`, ""},
		{`SELECT _key FROM t WHERE _key LIKE 'a%'`, "a1\na2"},
		{`SELECT _key FROM t WHERE _key LIKE '_1' AND NOT _key LIKE 'b_'`, "a1\nc1"},
		{`SELECT _key FROM t WHERE _key NOT LIKE '%1'`, "a2\nb2\n\xff\xff"},
		{`SELECT _key FROM t WHERE _key LIKE 'c1'`, "c1"},
		{`SELECT _key FROM t WHERE _key LIKE b'\xff_'`, "\xff\xff"},
		{`SELECT _key FROM t WHERE _key LIKE NULL`, ""},
		{`SELECT _key FROM t WHERE CAST(f['model'] AS STRING) LIKE '%6%1%'`, "c1"},
		{`SELECT 'é%x' LIKE '_\\%_', 'é' LIKE '__', '' LIKE '%', '' LIKE '', 'abcab' LIKE '%ab', 'aXbXc' LIKE 'a%X_' FROM t LIMIT 1`, "true false true true true true"},
		{`SELECT g['even'], f['model'] FROM t WHERE n['i'] >= 0`, "yes 759\nyes 761"},
		{`SELECT g, f['model'] FROM t WHERE n['i'] = 2`, "{even=yes} 761"},
		{`SELECT n['i'] FROM t WHERE n['i'] >= 0`, "0\n2"},
		{`SELECT n['i'], -n['i'] FROM t WHERE n['i'] < -1.5`, "-2 2"},
		{`SELECT CAST(n['i'] AS STRING), CAST(n['i'] AS FLOAT64) FROM t WHERE _key = 'c1'`, "2 2"},
		{`SELECT CAST(f['model'] AS STRING) FROM t WHERE CAST(CAST(f['model'] AS STRING) AS INT64) > 760`, "761\n762"},
		{`SELECT SAFE_CAST('x' AS INT64), CAST('0x1f' AS INT64), CAST(TRUE AS INT64), NULL FROM t LIMIT 1`, "NULL 31 1 NULL"},
		{`SELECT TO_INT64(b'\x00\x00\x00\x00\x00\x00\x01\x00') FROM t LIMIT 1`, "256"},
		{`SELECT f['model'][1].value, f['model'][0].timestamp FROM t(with_history => TRUE) WHERE _key = 'a1'`, "old 2000"},
		{`SELECT f['model'][0].value FROM t(with_history => TRUE, latest_n => 1, before => TIMESTAMP '1970-01-01 00:00:00.002+00') LIMIT 1`, "old"},
		{`SELECT f['model'] FROM t(as_of => TIMESTAMP('1970-01-01T00:00:00.001Z')) LIMIT 1`, "old"},
		{`SELECT _key FROM t(with_history => TRUE, after => TIMESTAMP '1970-01-01 00:00:00.002') LIMIT 1`, ""},
		{"SELECT `_key` FROM `t` -- all\n/* but */ WHERE _key > \"b2\" # two", "c1\n\xff\xff"},
		{`SELECT 'it\'s \u00e9\x41\n', r'\n', 1e3, .5, 0x10 FROM t LIMIT 1`, "it's éA\n \\n 1000 0.5 16"},
	} {
		got, err := r.query(c, q.sql, nil, nil)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

func TestSQLParameters(t *testing.T) {
	r, c := sqlRig(t)
	types := map[string]bigtable.SQLType{
		"from": bigtable.BytesSQLType{}, "model": bigtable.StringSQLType{}, "n": bigtable.Int64SQLType{}, "none": bigtable.Int64SQLType{},
		"f": bigtable.Float64SQLType{}, "yes": bigtable.BoolSQLType{}, "at": bigtable.TimestampSQLType{},
	}
	got, err := r.query(c, `SELECT _key, @n, @none, @f, @at FROM t WHERE _key >= @from AND CAST(f['model'] AS STRING) != @model AND @yes LIMIT @n`, types,
		map[string]any{"from": []byte("a2"), "model": "759", "n": int64(2), "none": nil, "f": 1.5, "yes": true, "at": time.UnixMicro(7)})
	if want := "a2 2 NULL 1.5 7\nb2 2 NULL 1.5 7"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// The rows that a condition reads are those for which it holds: what it is for
// each row, a query without it says.
func TestSQLReadsTheRowsThatItWants(t *testing.T) {
	r, c := sqlRig(t)
	rapid.Check(t, func(t *rapid.T) {
		cond := conditions(3).Draw(t, "condition")
		all, err := r.query(c, "SELECT _key, "+cond+" FROM t", nil, nil)
		r.must(err)
		var want []string
		for line := range strings.SplitSeq(all, "\n") {
			if key, ok := strings.CutSuffix(line, " true"); ok {
				want = append(want, key)
			}
		}
		order := rapid.SampledFrom([]string{"ASC", "DESC"}).Draw(t, "order")
		if order == "DESC" {
			slices.Reverse(want)
		}
		got, err := r.query(c, "SELECT _key FROM t WHERE "+cond+" ORDER BY _key "+order, nil, nil)
		if err != nil || got != strings.Join(want, "\n") {
			t.Fatalf("%s: got %q, %v; want %q", cond, got, err, want)
		}
	})
}

// conditions are those on row keys, nested so deep.
func conditions(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		key := rapid.SampledFrom([]string{"''", "'a'", "'a1'", "'a2'", "'b1'", "'b9'", "'c1'", `b'\xff'`, `b'\xff\xff'`, "NULL"})
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if depth == 0 && kind < 8 {
			kind %= 4
		}
		switch kind {
		case 8:
			return rapid.SampledFrom([]string{"g['even'] = 'yes'", "g['even'] IS NULL", "f['no'] IS NOT NULL", "n['i'] > -1", "CAST(n['i'] AS STRING) = '2'",
				"g['even'] LIKE 'y%'", "f['model'] != g['even']", "n['i'] IN UNNEST([0, NULL])", "n['i'] IN UNNEST([])", "(n['i'] = 0) IS TRUE", "IFNULL(n['i'], 1) = 1", "f['model'] IN UNNEST([g['even'], '760'])", "n['i'] BETWEEN -2 AND 0", "SAFE_CAST(CAST(f['model'] AS STRING) AS INT64) > 758"}).Draw(t, "column")
		case 9:
			return "_key LIKE " + rapid.SampledFrom([]string{"'%'", "'a%'", "'_1'", "'b2'", `b'\xff%'`, "''", "NULL"}).Draw(t, "pattern")
		case 0, 1:
			return "_key " + rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">="}).Draw(t, "op") + " " + key.Draw(t, "key")
		case 2:
			return key.Draw(t, "key") + " " + rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "op") + " _key"
		case 3:
			if rapid.Bool().Draw(t, "unnest") {
				return "_key IN UNNEST([" + strings.Join(rapid.SliceOfN(key, 0, 3).Draw(t, "keys"), ", ") + "])"
			}
			return "STARTS_WITH(_key, " + key.Draw(t, "prefix") + ")"
		case 4:
			return "NOT (" + conditions(depth-1).Draw(t, "negated") + ")"
		}
		word := rapid.SampledFrom([]string{"AND", "OR"}).Draw(t, "word")
		return "(" + conditions(depth-1).Draw(t, "left") + ") " + word + " (" + conditions(depth-1).Draw(t, "right") + ")"
	})
}

// What is wrong with a query is said with its place.
func TestSQLErrors(t *testing.T) {
	r, c := sqlRig(t)
	deep := strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200)
	for _, q := range []struct{ sql, want string }{
		{``, `expected SELECT but got the end of the query [at 1:1]`},
		{"SELECT _key\nFRO t", `expected FROM but got "t" [at 2:5]`},
		{`SELECT é FROM t`, `unexpected 'é' [at 1:8]`},
		{`SELECT _key FROM nope`, `Table not found: nope [at 1:18]`},
		{`SELECT nope['x'] FROM t`, `Unrecognized name: nope`},
		{`SELECT _key FROM t WHERE`, `expected an expression but got the end of the query [at 1:25]`},
		{`SELECT _key FROM t WHERE _key`, `a condition is BYTES; it must be BOOL [at 1:26]`},
		{`SELECT _key FROM t WHERE _key = 1`, `BYTES = INT64 cannot be compared; CAST`},
		{`SELECT _key FROM t WHERE f = 'x'`, `MAP<BYTES, BYTES> = `},
		{`SELECT CAST(_key AS INT64) FROM t`, `Invalid cast from BYTES to INT64; CAST(CAST(`},
		{`SELECT CAST('x' AS INT64) FROM t`, `"x" cannot be cast to INT64 [at 1:8]`},
		{`SELECT CAST(_key AS JSON) FROM t`, `type JSON is not one of`},
		{`SELECT CAST(_key AS STRING) FROM t`, `not valid UTF-8`},
		{`SELECT f['model'][7] FROM t(with_history => TRUE)`, `index 7 is out of range`},
		{`SELECT f['model'][0] FROM t`, `BYTES has no elements`},
		{`SELECT _key FROM t(with_history => 1)`, `with_history is INT64; it must be BOOL`},
		{`SELECT _key FROM t(latest_n => 2)`, `latest_n wants with_history => TRUE [at 1:20]`},
		{`SELECT _key FROM t(newest => 2)`, `unknown option newest`},
		{`SELECT _key FROM t ORDER BY f`, `ordered by _key alone; expected _key but got "f" [at 1:29]`},
		{`SELECT _key FROM t LIMIT x`, `expected a number of rows but got "x"`},
		{`SELECT _key FROM t LIMIT 99999999999999999999`, `not an INT64`},
		{`SELECT @p FROM t`, `@p has no type`},
		{`SELECT COUNT(_key) FROM t`, `COUNT(*) alone, without other columns [at 1:8]`},
		{`SELECT SUM(_key) FROM t`, `Function not found: SUM`},
		{`SELECT TIMESTAMP('a', 'b') FROM t`, `TIMESTAMP takes one argument [at 1:8]`},
		{`SELECT _key FROM t GROUP BY _key`, `expected the end of the query but got "GROUP"`},
		{`SELECT 'x FROM t`, `the literal does not end [at 1:8]`},
		{`SELECT '\q' FROM t`, `illegal escape sequence [at 1:9]`},
		{`SELECT _key /* FROM t`, `the comment does not end`},
		{`SELECT ` + deep + ` FROM t`, `nested too deep`},
		{`SELECT f` + strings.Repeat("['x']", 200) + ` FROM t`, `nested too deep`},
	} {
		_, err := r.query(c, q.sql, nil, nil)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%.80s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// A prepared query of a table whose families have changed is prepared again by
// the client.
func TestSQLExpires(t *testing.T) {
	r, c := sqlRig(t)
	ps, err := c.PrepareStatement(r.ctx(), `SELECT * FROM t LIMIT 1`, nil)
	r.must(err)
	r.must(r.admin().CreateColumnFamily(r.ctx(), "t", "h"))
	bs, err := ps.Bind(nil)
	r.must(err)
	columns := 0
	r.must(bs.Execute(r.ctx(), func(row bigtable.ResultRow) bool { columns = len(row.Metadata.Columns); return true }))
	if columns != 5 {
		t.Errorf("%d columns", columns)
	}
}

// execute collects what a query sends, as clients do, until a token has come;
// it returns the keys that it gave, and its last token.
func (r *rig) execute(req *bigtablepb.ExecuteQueryRequest, results int) (keys []string, token []byte) {
	r.t.Helper()
	stream, err := bigtablepb.NewBigtableClient(r.conn).ExecuteQuery(r.ctx(), req)
	r.must(err)
	var batch []byte
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return keys, token
		}
		r.must(err)
		if n := proto.Size(m); n > 1<<20+200 {
			r.t.Errorf("a message has %d bytes", n)
		}
		set := m.GetResults()
		batch = append(batch, set.GetProtoRowsBatch().GetBatchData()...)
		if set.BatchChecksum != nil {
			if sum := crc32.Checksum(batch, crc32.MakeTable(crc32.Castagnoli)); sum != set.GetBatchChecksum() {
				r.t.Error("the checksum is wrong")
			}
			rows := &bigtablepb.ProtoRows{}
			r.must(proto.Unmarshal(batch, rows))
			for i := 0; i < len(rows.GetValues()); i += 2 {
				keys = append(keys, string(rows.GetValues()[i].GetBytesValue()))
			}
			batch = nil
		}
		if set.GetResumeToken() != nil {
			token = set.GetResumeToken()
			if results--; results == 0 {
				return keys, token
			}
		}
	}
}

// A query goes on from any token as if it had not been interrupted, also one
// with a limit, in either direction; and large values come in parts.
func TestSQLResumes(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	var want []string
	for i := range 40 {
		m := bigtable.NewMutation()
		m.Set("f", "big", 1000, bytes.Repeat([]byte("x"), i*3000))
		if i == 20 {
			m.Set("f", "big", 1000, make([]byte, 3<<20))
		}
		key := fmt.Sprintf("k%02d", i)
		r.must(tab.Apply(r.ctx(), key, m))
		if i != 7 {
			want = append(want, key)
		}
	}
	for _, order := range []string{"ASC", "DESC"} {
		prepared, err := bigtablepb.NewBigtableClient(r.conn).PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{
			InstanceName: parent, Query: "SELECT _key, f['big'] FROM t WHERE _key != 'k07' ORDER BY _key " + order + " LIMIT 35",
			DataFormat: &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}},
		})
		r.must(err)
		req := &bigtablepb.ExecuteQueryRequest{InstanceName: parent, PreparedQuery: prepared.GetPreparedQuery()}
		all, end := r.execute(req, -1)
		if !slices.Equal(all, want[:35]) {
			t.Errorf("%s: %q", order, all)
		}
		var parts []string
		calls := 0
		for !bytes.Equal(req.GetResumeToken(), end) && calls < 100 {
			keys, token := r.execute(req, 1)
			parts, req.ResumeToken = append(parts, keys...), token
			calls++
		}
		if !slices.Equal(parts, all) || calls < 4 {
			t.Errorf("%s: in %d parts: %q", order, calls, parts)
		}
		if keys, token := r.execute(req, -1); len(keys) != 0 || !bytes.Equal(token, end) {
			t.Errorf("behind the end: %q", keys)
		}
		slices.Reverse(want)
	}
}

func TestSQLRefusesTokensOfOthers(t *testing.T) {
	r, _ := sqlRig(t)
	for _, req := range []*bigtablepb.ExecuteQueryRequest{
		{InstanceName: parent},
		{InstanceName: parent, PreparedQuery: []byte("x")},
		{InstanceName: parent, PreparedQuery: []byte("0123\xff\xff\xff")},
		{InstanceName: parent, Query: "SELECT _key FROM t", DataFormat: &bigtablepb.ExecuteQueryRequest_ProtoFormat{}, ResumeToken: []byte("whatever")},
	} {
		stream, err := bigtablepb.NewBigtableClient(r.conn).ExecuteQuery(r.ctx(), req)
		r.must(err)
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", req, err)
		}
	}
}

// Any text is a query or an error.
func FuzzSQL(f *testing.F) {
	f.Add(`SELECT *, CAST(f['x'] AS STRING) AS a FROM t(with_history => TRUE, as_of => @p) WHERE NOT _key IN ('a', b"\xff") AND -1.5e3 < n['y'][0].value ORDER BY _key DESC LIMIT @n`)
	f.Add(`SELECT _key FROM t WHERE _key BETWEEN TIMESTAMP '2024-01-01' AND 0x1F OR STARTS_WITH(_key, r'\') -- x`)
	f.Add(`SELECT [1, NULL], STRUCT(1 AS a).a, DATE '2024-01-01', IFNULL(NULL, 2.5), UNIX_MILLIS(TIMESTAMP_MILLIS(1)), DATE(2024, 1, 2) = @d`)
	f.Add(`SELECT x._key AS k, MAP_KEYS(x.f)[SAFE_OFFSET(0)] FROM t AS x WHERE _key IN UNNEST(@keys) AND (f['a'] = b'a') IS NOT TRUE ORDER BY k`)
	f.Add("SELECT `a` # '\n/* */ FROM t;")
	f.Fuzz(func(t *testing.T, text string) { server.CheckSQL(text) })
}

// Bigtable's Java client says no format of results: there is one.
func TestQueryWithoutAFormat(t *testing.T) {
	r := newRig(t)
	r.set(r.table("t", "f"), "k", "f:x=1")
	prepared, err := r.data().PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: "SELECT _key FROM t"})
	r.must(err)
	keys, _ := r.execute(&bigtablepb.ExecuteQueryRequest{InstanceName: parent, PreparedQuery: prepared.GetPreparedQuery()}, -1)
	if !slices.Equal(keys, []string{"k"}) {
		t.Errorf("rows %q", keys)
	}
}
