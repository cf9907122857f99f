package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/civil"
	"google.golang.org/genproto/googleapis/type/date"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
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

// The language is tested in its own package. These tests check the results at a client:
// each type of a column, and the cells of a table that are read.
func TestSQL(t *testing.T) {
	r, c := sqlRig(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT _key FROM t`, "a1\na2\nb1\nb2\nc1\n\xff\xff"},
		{`SELECT _key FROM t ORDER BY _key DESC LIMIT 2 OFFSET 3`, "b1\na2"},
		{`SELECT * FROM t WHERE _key = 'a1'`, "a1 {model=757} {even=yes} {i=-2}"},
		{`SELECT f['model'], g['even'], f['no'] FROM t WHERE _key < 'b'`, "757 yes NULL\n758 NULL NULL"},
		{`SELECT f['model'] FROM t(with_history => TRUE) WHERE _key = 'a1'`, "[{timestamp:2000 value:757} {timestamp:1000 value:old}]"},
		{`SELECT f['model'] FROM t(as_of => TIMESTAMP('1970-01-01T00:00:00.001Z')) LIMIT 1`, "old"},
		{`SELECT count(*) AS n, COUNT(*) FROM t WHERE g['even'] IS NOT NULL AND _key < 'c'`, "2 2"},
		{`SELECT COUNT(*) FROM t WHERE _key = 'none' AND _key = 'nowhere'`, "0"},
		{`SELECT COUNT(*) FROM t LIMIT 1 OFFSET 1`, ""},
		{`SELECT _key FROM t WHERE _key = 'a1' AND _key = 'a2'`, ""},
		{`SELECT 1, 'a' AS s, b'\xff', 2.5, TRUE, NULL`, "1 a \xff 2.5 true NULL"},
		{`SELECT CAST(1.5 AS FLOAT32), TIMESTAMP '1970-01-01 00:01:00', DATE '2024-2-29'`, "1.5 60000000 2024-02-29"},
		{`SELECT [1, 2, 3], ['a', NULL], [], [STRUCT(1 AS x)]`, "[1 2 3] [a NULL] [] [{x:1}]"},
		{`SELECT STRUCT(1 AS a, 'foo' AS b)`, "{a:1 b:foo}"},
		{`SELECT 1 AS a ORDER BY a LIMIT 1 OFFSET 1`, ""},
		{`SELECT g['even'] AS e, COUNT(*), SUM(n['i']) FROM t GROUP BY e ORDER BY e DESC`, "yes 3 0\nNULL 3 NULL"},
		{`FROM t |> AGGREGATE COUNT(*) AS c GROUP BY n['i'] > 0 AS p |> WHERE p |> SELECT c + 1`, "2"},
	} {
		got, err := r.query(c, q.sql, nil, nil)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

// A result that is computed as a whole comes in many messages, and the client takes it
// with the token at the end.
func TestSQLOfAWholeResult(t *testing.T) {
	r, c := sqlRig(t)
	array := "UNNEST([1" + strings.Repeat(",1", 299) + "]) AS "
	got, err := r.query(c, "SELECT x, y, 'a text so that a row is not short' FROM "+array+"x, "+array+"y", nil, nil)
	if rows := strings.Count(got, "\n") + 1; err != nil || rows != 90_000 {
		t.Errorf("%d rows, %v; want 90000", rows, err)
	}
}

// A wrong query is the client's fault, whether the fault is found in the text, in the
// table or in a row.
func TestSQLErrors(t *testing.T) {
	r, c := sqlRig(t)
	for _, q := range []struct{ sql, want string }{
		{"SELECT _key\nFRO t", `Syntax error: expected FROM but got "t" [at 2:5]`},
		{`SELECT _key FROM nope`, `Table not found: nope [at 1:18]`},
		{`SELECT nope['x'] FROM t`, `Unrecognized name: nope; table t has _key and its column families [at 1:8]`},
		{`SELECT CAST(_key AS STRING) FROM t`, `bytes that are not valid UTF-8 cannot be cast to STRING [at 1:8]`},
		{`SELECT [1][1]`, `index 1 is out of range: the array has 1 elements [at 1:11]`},
		{`SELECT 1 LIMIT -1`, `Syntax error: expected a number of rows but got "-" [at 1:16]`},
	} {
		_, err := r.query(c, q.sql, nil, nil)
		if s := status.Convert(err); s.Code() != codes.InvalidArgument || s.Message() != q.want {
			t.Errorf("%s: %v; want %s", q.sql, err, q.want)
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

// Parameters of every type come back unchanged, NULL too.
func TestSQLParametersOfEveryType(t *testing.T) {
	r, c := sqlRig(t)
	at, day := time.UnixMicro(1_717_200_000_123_456).UTC(), civil.Date{Year: 2024, Month: 6, Day: 1}
	for _, p := range []struct {
		of     bigtable.SQLType
		value  any
		values any
	}{
		{bigtable.BytesSQLType{}, []byte("a\x00"), [][]byte{[]byte("x"), nil, {}}},
		{bigtable.StringSQLType{}, "é", []any{"x", nil, ""}},
		{bigtable.Int64SQLType{}, int64(math.MinInt64), []any{int64(1), nil}},
		{bigtable.Float32SQLType{}, float32(1.3), []any{float32(1.3), nil}},
		{bigtable.Float64SQLType{}, 1.4, []float64{1.4, math.Inf(1)}},
		{bigtable.BoolSQLType{}, true, []any{true, nil, false}},
		{bigtable.TimestampSQLType{}, at, []any{at, nil}},
		{bigtable.DateSQLType{}, day, []civil.Date{day, {Year: 1, Month: 1, Day: 1}, {Year: 9999, Month: 12, Day: 31}}},
	} {
		types := map[string]bigtable.SQLType{"v": p.of, "none": p.of, "vs": bigtable.ArraySQLType{ElemType: p.of}, "nothing": bigtable.ArraySQLType{ElemType: p.of}}
		ps, err := c.PrepareStatement(r.ctx(), "SELECT @v AS v, @none AS none, @vs AS vs, @nothing AS nothing, @v IN UNNEST(@vs), ARRAY_LENGTH(@vs)", types)
		r.must(err)
		bs, err := ps.Bind(map[string]any{"v": p.value, "none": nil, "vs": p.values, "nothing": nil})
		r.must(err)
		rows := 0
		r.must(bs.Execute(r.ctx(), func(row bigtable.ResultRow) bool {
			rows++
			v := reflect.New(reflect.TypeOf(p.value))
			vs := reflect.New(reflect.TypeOf(p.values))
			var none, nothing any
			var length int64
			for i, to := range []any{v.Interface(), &none, vs.Interface(), &nothing} {
				if err := row.GetByIndex(i, to); err != nil {
					t.Errorf("%T, column %d: %v", p.of, i, err)
				}
			}
			r.must(row.GetByIndex(5, &length))
			if got := v.Elem().Interface(); fmt.Sprint(got) != fmt.Sprint(p.value) || none != nil {
				t.Errorf("%T: got %v and %v; want %v and NULL", p.of, got, none, p.value)
			}
			if got := vs.Elem().Interface(); fmt.Sprint(got) != fmt.Sprint(p.values) || int(length) != vs.Elem().Len() {
				t.Errorf("%T: got %v, of %d; want %v", p.of, got, length, p.values)
			}
			return true
		}))
		if rows != 1 {
			t.Errorf("%T: %d rows", p.of, rows)
		}
	}
	got, err := r.query(c, `SELECT _key FROM t WHERE _key IN UNNEST(@keys) ORDER BY _key DESC`, map[string]bigtable.SQLType{"keys": bigtable.ArraySQLType{ElemType: bigtable.BytesSQLType{}}},
		map[string]any{"keys": [][]byte{[]byte("b1"), nil, []byte("zz"), []byte("a2")}})
	if want := "b1\na2"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// Values that are not of their parameter's type are the client's fault.
func TestSQLParametersThatAreNotWhatTheySay(t *testing.T) {
	r, _ := sqlRig(t)
	dates := &bigtablepb.Type{Kind: &bigtablepb.Type_DateType{DateType: &bigtablepb.Type_Date{}}}
	array := func(of *bigtablepb.Type) *bigtablepb.Type {
		return &bigtablepb.Type{Kind: &bigtablepb.Type_ArrayType{ArrayType: &bigtablepb.Type_Array{ElementType: of}}}
	}
	number := &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: 1}}
	for what, v := range map[string]*bigtablepb.Value{
		"an impossible day":   {Type: dates, Kind: &bigtablepb.Value_DateValue{DateValue: &date.Date{Year: 2023, Month: 2, Day: 29}}},
		"a year alone":        {Type: dates, Kind: &bigtablepb.Value_DateValue{DateValue: &date.Date{Year: 2023}}},
		"no date":             {Type: dates, Kind: number.Kind},
		"no array":            {Type: array(dates), Kind: number.Kind},
		"another element":     {Type: array(dates), Kind: &bigtablepb.Value_ArrayValue{ArrayValue: &bigtablepb.ArrayValue{Values: []*bigtablepb.Value{number}}}},
		"an array of arrays":  {Type: array(array(dates))},
		"an array of nothing": {Type: array(nil)},
		"a struct":            {Type: &bigtablepb.Type{Kind: &bigtablepb.Type_StructType{StructType: &bigtablepb.Type_Struct{}}}},
	} {
		//lint:ignore SA1019 clients send it
		stream, err := r.data().ExecuteQuery(r.ctx(), &bigtablepb.ExecuteQueryRequest{InstanceName: parent, Query: "SELECT @p", Params: map[string]*bigtablepb.Value{"p": v}})
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", what, err)
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

// execute collects the results of a query, as clients do, until a token arrives; it
// returns the keys, and the last token.
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

// A query continues from any token as if it had not been interrupted, also with a
// limit, and in either direction; large values come in parts.
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

// Bigtable's Java client does not set the format of results: there is only one.
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

// Bigtable names a column without a name by its place.
func TestColumnsWithoutNames(t *testing.T) {
	r := newRig(t)
	m, err := r.data().PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: "SELECT 1, 2 AS n, 'a'",
		DataFormat: &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}})
	r.must(err)
	var names []string
	for _, c := range m.GetMetadata().GetProtoSchema().GetColumns() {
		names = append(names, c.GetName())
	}
	if want := []string{"$col1", "n", "$col3"}; !slices.Equal(names, want) {
		t.Errorf("the columns are %q; want %q", names, want)
	}
}
