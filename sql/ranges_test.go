package sql_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/value"
)

var (
	textField   = rowkey.Field{Kind: value.TypeString}
	numberField = rowkey.Field{Kind: value.TypeInt64}
	codedField  = rowkey.Field{Kind: value.TypeInt64, OrderedCode: true}
)

// hash joins fields with #, and ordered keeps their order.
func hash(fields ...rowkey.Field) *rowkey.Schema {
	return rowkey.New(rowkey.Delimited, "#", named(fields)...)
}
func ordered(fields ...rowkey.Field) *rowkey.Schema {
	return rowkey.New(rowkey.Ordered, "", named(fields)...)
}

func single(field rowkey.Field) *rowkey.Schema {
	return rowkey.New(rowkey.Singleton, "", named([]rowkey.Field{field})...)
}

func named(fields []rowkey.Field) []rowkey.Field {
	for i := range fields {
		fields[i].Name = string(rune('u' + i))
	}
	return fields
}

// fill replaces the rows of the table by rows with these keys.
func (p *planes) fill(keys ...string) {
	p.t.Helper()
	for _, old := range []string{"a1", "a2", "b1", "b2", "c1", "\xff\xff"} {
		m := write.NewMutation()
		m.DeleteRow()
		if err := p.db.Table("t").Apply(context.Background(), old, m); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, key := range keys {
		m := write.NewMutation()
		m.SetAt("f", "x", 1000, cells.Bytes([]byte("y")))
		if err := p.db.Table("t").Apply(context.Background(), key, m); err != nil {
			p.t.Fatal(err)
		}
	}
}

func bigEndian(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }

func TestFieldsOfRowKeys(t *testing.T) {
	db := openPlanes(t)
	db.rowKeys = hash(textField, numberField, textField)
	db.fill("ann#"+bigEndian(7)+"#a#b", "ann#"+bigEndian(-1)+"#", "bob#"+bigEndian(35<<56)+"#z", "bob!#"+bigEndian(2)+"#z")
	for _, q := range []struct{ sql, want string }{
		{`SELECT u, v, w FROM t`, "ann 7 a#b\nann -1 \nbob! 2 z\nbob 2522015791327477760 z"},
		{`SELECT w FROM t WHERE u = 'ann' AND v = 7`, "a#b"},
		{`SELECT COUNT(*), MAX(v) FROM t GROUP BY u ORDER BY u`, "2 7\n1 2522015791327477760\n1 2"},
		{`SELECT U, t.v FROM t WHERE t.u >= 'bob' AND v < 5`, "bob! 2"},
		{`SELECT * EXCEPT (f, g, n) FROM t WHERE u = 'bob!'`, "bob! 2 z"},
		{`SELECT a.* EXCEPT (f, g, n), LENGTH(b._key) FROM t AS a JOIN t AS b ON a._key = b._key WHERE a.v = 2`, "bob! 2 z 15"},
		{`SELECT LENGTH(_key) FROM t WHERE u = 'bob!'`, "15"},
		{`SELECT f['x'], u FROM t WHERE STARTS_WITH(u, 'b') ORDER BY u DESC`, "y bob!\ny bob"},
		{`EXPLAIN SELECT v FROM t WHERE u IN ('ann', 'bob') AND v = 7`, "read 2 ranges of rows of t\n" +
			`  from "ann#\x00\x00\x00\x00\x00\x00\x00\a" to "ann#\x00\x00\x00\x00\x00\x00\x00\b"` + "\n" +
			`  from "bob#\x00\x00\x00\x00\x00\x00\x00\a" to "bob#\x00\x00\x00\x00\x00\x00\x00\b"` + "\n  row keys only\nfilter rows\nselect 1 columns, row by row"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
	db.fill("invalid")
	for _, q := range []struct{ sql, want string }{
		{`SELECT v FROM t`, `the row key "invalid" has no INT64 in the field v of the table's row-key schema [at 1:8]`},
		{`SELECT nope FROM t`, `table t has _key and its column families, and the fields of its row key: u, v, w [at 1:8]`},
	} {
		_, err := db.run(q.sql)
		if e, ok := errors.AsType[*sql.Error](err); !ok || !strings.Contains(e.Error(), q.want) {
			t.Errorf("%s: %v; want %s", q.sql, err, q.want)
		}
	}
}

// A condition on fields reads a part of the table. The rows are those for which the
// condition, as a column of a query of the whole table, is true.
func TestRowsByFieldsAreThoseThatAreWanted(t *testing.T) {
	texts := []string{"", "a", "a!", "ab", "a\x00b"}
	numbers := []int64{0, -1, 64, -1 << 63, 35 << 56}
	for name, layout := range map[string]struct {
		schema *rowkey.Schema
		types  string // t: a text, n: a number
	}{
		"delimited":        {hash(textField, numberField, textField), "tnt"},
		"delimited coded":  {hash(codedField, textField, textField), "ntt"},
		"ordered":          {ordered(textField, codedField, textField), "tnt"},
		"ordered texts":    {ordered(textField, textField, textField), "ttt"},
		"ordered numbers":  {ordered(numberField, textField, codedField), "ntn"},
		"one coded number": {single(codedField), "n"},
		"one number":       {single(numberField), "n"},
		"one text":         {single(textField), "t"},
	} {
		t.Run(name, func(t *testing.T) {
			db := openPlanes(t)
			db.rowKeys = layout.schema
			db.fill(keysOf(layout.schema, layout.types, texts, numbers)...)
			all, err := db.run("SELECT COUNT(*) FROM t")
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(t *rapid.T) {
				cond := fieldConditions(layout.types, texts, numbers, 2).Draw(t, "condition")
				const columns = "COUNTIF(%[1]s), COUNTIF(NOT (%[1]s)), COUNTIF((%[1]s) IS NULL)"
				want, err := db.run(fmt.Sprintf("SELECT "+columns+" FROM t", cond))
				if err != nil {
					t.Fatal(err)
				}
				var parts []string
				for _, where := range []string{cond, "NOT (" + cond + ")", "(" + cond + ") IS NULL"} {
					part, err := db.run("SELECT COUNT(*) FROM t WHERE " + where)
					if err != nil {
						t.Fatal(err)
					}
					parts = append(parts, part)
				}
				if got := strings.Join(parts, " "); got != want {
					t.Fatalf("%s of %s rows: got %s; want %s", cond, all, got, want)
				}
			})
		})
	}
}

// keysOf are the keys of all combinations of values.
func keysOf(s *rowkey.Schema, types string, texts []string, numbers []int64) (keys []string) {
	made := map[string]bool{}
	combine := func(values ...any) {
		if key, ok := joined(s, values); ok && key != "" && !made[key] {
			made[key] = true
			keys = append(keys, key)
		}
	}
	var extend func(values []any)
	extend = func(values []any) {
		if len(values) == len(types) {
			combine(values...)
			return
		}
		if types[len(values)] == 't' {
			for _, v := range texts {
				extend(append(values[:len(values):len(values)], v))
			}
			return
		}
		for _, v := range numbers {
			extend(append(values[:len(values):len(values)], v))
		}
	}
	extend(nil)
	return keys
}

// joined is the key of these values; ok is false when no key has them.
func joined(s *rowkey.Schema, values []any) (key string, ok bool) {
	for i, v := range values {
		key = s.After(key, i, v)
	}
	for _, end := range []string{"#", "\x00\x01"} {
		key = strings.TrimSuffix(key, end)
	}
	for strings.HasSuffix(key, "\x00\x01\x00\x00") { // empty fields at the end are not written
		key = strings.TrimSuffix(key, "\x00\x01\x00\x00")
	}
	for i, v := range values {
		if got, err := s.Decode(key, i); err != nil || got != v {
			return "", false
		}
	}
	return key, true
}

func fieldConditions(types string, texts []string, numbers []int64, depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if depth > 0 && kind > 2 {
			word := rapid.SampledFrom([]string{"AND", "AND", "OR"}).Draw(t, "word")
			return "(" + fieldConditions(types, texts, numbers, depth-1).Draw(t, "left") + ") " + word + " (" + fieldConditions(types, texts, numbers, depth-1).Draw(t, "right") + ")"
		}
		at := rapid.IntRange(0, len(types)-1).Draw(t, "field")
		field := string(rune('u' + at))
		literal := rapid.Custom(func(t *rapid.T) string {
			switch {
			case rapid.IntRange(0, 30).Draw(t, "null") == 0:
				return "NULL"
			case types[at] == 't':
				return fmt.Sprintf("'%s'", strings.ReplaceAll(rapid.SampledFrom(texts).Draw(t, "text"), "\x00", `\x00`))
			}
			return fmt.Sprint(rapid.SampledFrom(numbers).Draw(t, "number"))
		})
		switch kind {
		case 0:
			return field + " IN (" + strings.Join(rapid.SliceOfN(literal, 1, 3).Draw(t, "list"), ", ") + ")"
		case 1:
			return literal.Draw(t, "value") + rapid.SampledFrom([]string{" < ", " <= ", " > ", " >= ", " = "}).Draw(t, "op") + field
		case 2:
			if types[at] == 't' {
				return "STARTS_WITH(" + field + ", " + literal.Draw(t, "prefix") + ")"
			}
			return field + " > 1.5"
		}
		return field + rapid.SampledFrom([]string{" = ", " = ", " != ", " < ", " <= ", " > ", " >= "}).Draw(t, "op") + literal.Draw(t, "value")
	})
}
