package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/rowkey"
)

// planes is a database with the table t, of six planes. Family n is of integers.
type planes struct {
	t       *testing.T
	db      *query.DB
	rowKeys *rowkey.Schema
	bundles sql.Bundles
}

func openPlanes(t *testing.T) *planes {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "g"}, {Name: "n", Type: cells.TypeI64}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, key := range []string{"a1", "a2", "b1", "b2", "c1", "\xff\xff"} {
		m := write.NewMutation()
		m.SetAt("f", "model", 1000, cells.Bytes([]byte("old")))
		m.SetAt("f", "model", 2000, cells.Bytes(fmt.Append(nil, 757+i)))
		if i%2 == 0 {
			m.SetAt("g", "even", 1000, cells.Bytes([]byte("yes")))
			m.SetAt("n", "i", 1000, cells.I64(int64(i-2)))
		}
		if err := db.Table("t").Apply(context.Background(), key, m); err != nil {
			t.Fatal(err)
		}
	}
	return &planes{t: t, db: db}
}

// run carries out a query without parameters. Each row is a line of the values of
// its columns.
func (p *planes) run(text string) (string, error) {
	p.t.Helper()
	plan, err := p.plan(text)
	if err != nil {
		return "", err
	}
	q, err := sql.Parse(text)
	if err != nil {
		return "", err
	}
	return p.result(plan, q.Table())
}

// plan looks a query up, also without its parameters: the columns must be the same.
func (p *planes) plan(text string) (*sql.Plan, error) {
	q, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	q = q.WithRowKeys(p.rowKeys).WithBundles(p.bundles)
	var table schema.Table
	if q.Table() != "" {
		declared, ok := p.db.Schema().Table(q.Table())
		if !ok {
			return nil, q.TableNotFound([]string{"t"})
		}
		table = *declared
	}
	prepared, err := q.Plan(table, sql.Params{})
	if err != nil {
		return nil, err
	}
	none, err := sql.Params{}.Bind(nil)
	if err != nil {
		return nil, err
	}
	plan, err := q.Plan(table, none)
	if err != nil {
		return nil, err
	}
	if !proto.Equal(plan.Metadata(), prepared.Metadata()) {
		p.t.Errorf("%s: has other columns before its parameters are bound", text)
	}
	return plan, nil
}

func (p *planes) result(plan *sql.Plan, table string) (string, error) {
	if !plan.Streams() {
		return p.whole(plan, table)
	}
	first, end, err := plan.Bounds()
	if err != nil {
		return "", err
	}
	lines, err := p.wanted(plan, table)
	if err != nil {
		return "", err
	}
	end = min(end, uint64(len(lines)))
	return strings.Join(lines[min(first, end):end], "\n"), nil
}

// whole is a result that is computed as a whole.
func (p *planes) whole(plan *sql.Plan, table string) (string, error) {
	var lines []string
	err := plan.Run(context.Background(), p.db.Table(table), func(values []*bigtablepb.Value) error {
		var texts []string
		for i, v := range values {
			texts = append(texts, textOf(columnType(plan, i), v))
		}
		lines = append(lines, strings.Join(texts, " "))
		return nil
	})
	return strings.Join(lines, "\n"), err
}

// wanted are the lines of all rows that the query wants.
func (p *planes) wanted(plan *sql.Plan, table string) (lines []string, err error) {
	opts, some := plan.Reads("", 100)
	switch {
	case !some:
		return nil, nil
	case table == "":
		line, err := lineOf(plan, nil)
		return []string{line}, err
	}
	for row, err := range p.db.Table(table).ReadRows(context.Background(), opts...) {
		if err != nil {
			return nil, err
		}
		wanted, err := plan.Wants(context.Background(), row)
		if err != nil {
			return nil, err
		}
		if !wanted {
			continue
		}
		line, err := lineOf(plan, row)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func columnType(plan *sql.Plan, i int) *bigtablepb.Type {
	return plan.Metadata().GetProtoSchema().GetColumns()[i].GetType()
}

func lineOf(plan *sql.Plan, row *query.Row) (string, error) {
	var values []string
	for v, err := range plan.Values(context.Background(), row) {
		if err != nil {
			return "", err
		}
		values = append(values, textOf(columnType(plan, len(values)), v))
	}
	return strings.Join(values, " "), nil
}

// textOf is a value as the tests write it.
func textOf(t *bigtablepb.Type, v *bigtablepb.Value) string {
	switch k := v.GetKind().(type) {
	case nil:
		return "NULL"
	case *bigtablepb.Value_BytesValue:
		if t.GetProtoType() != nil {
			return fmt.Sprintf("%q", k.BytesValue)
		}
		return string(k.BytesValue)
	case *bigtablepb.Value_StringValue:
		return k.StringValue
	case *bigtablepb.Value_IntValue:
		return fmt.Sprint(k.IntValue)
	case *bigtablepb.Value_FloatValue:
		return fmt.Sprint(k.FloatValue)
	case *bigtablepb.Value_BoolValue:
		return fmt.Sprint(k.BoolValue)
	case *bigtablepb.Value_TimestampValue:
		return fmt.Sprint(k.TimestampValue.AsTime().UnixMicro())
	case *bigtablepb.Value_DateValue:
		return fmt.Sprintf("%04d-%02d-%02d", k.DateValue.GetYear(), k.DateValue.GetMonth(), k.DateValue.GetDay())
	}
	values := v.GetArrayValue().GetValues()
	all := make([]string, len(values))
	switch k := t.GetKind().(type) {
	case *bigtablepb.Type_StructType:
		for i, f := range k.StructType.GetFields() {
			all[i] = f.GetFieldName() + ":" + textOf(f.GetType(), values[i])
		}
		return "{" + strings.Join(all, " ") + "}"
	case *bigtablepb.Type_MapType:
		for i, entry := range values {
			of := entry.GetArrayValue().GetValues()
			all[i] = textOf(k.MapType.GetKeyType(), of[0]) + "=" + textOf(k.MapType.GetValueType(), of[1])
		}
		return "{" + strings.Join(all, " ") + "}"
	}
	for i, element := range values {
		all[i] = textOf(t.GetArrayType().GetElementType(), element)
	}
	return "[" + strings.Join(all, " ") + "]"
}
