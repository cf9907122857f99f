package sql_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/value"
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
	of := sql.Source{RowKeys: p.rowKeys, Bundles: p.bundles}
	if q.Table() != "" {
		declared, ok := p.db.Schema().Table(q.Table())
		if !ok {
			return nil, q.TableNotFound(q.Table(), []string{"t"})
		}
		of.Table = *declared
	}
	q = q.Of(q.Table(), of)
	prepared, err := q.Plan(sql.Params{})
	if err != nil {
		return nil, err
	}
	none, err := sql.Params{}.Bind(nil)
	if err != nil {
		return nil, err
	}
	plan, err := q.Plan(none)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(plan.Columns(), prepared.Columns()) {
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
	err := plan.Run(context.Background(), sql.Only(p.db.Table(table)), func(values []any) error {
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

func columnType(plan *sql.Plan, i int) value.Type {
	return plan.Columns()[i].Type
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
func textOf(t value.Type, v any) string {
	var all []string
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		if t.Kind == value.TypeMessage {
			return fmt.Sprintf("%q", v)
		}
		return string(v)
	case float32:
		return fmt.Sprint(float64(v))
	case cells.Timestamp:
		return fmt.Sprint(int64(v))
	case value.Struct:
		for i, f := range t.Fields {
			all = append(all, f.Name+":"+textOf(f.Type, v[i]))
		}
		return "{" + strings.Join(all, " ") + "}"
	case value.Map:
		for _, e := range v {
			all = append(all, e.Qualifier+"="+textOf(*t.Of, e.Value))
		}
		return "{" + strings.Join(all, " ") + "}"
	case value.Array:
		for _, e := range v {
			all = append(all, textOf(*t.Of, e))
		}
		return "[" + strings.Join(all, " ") + "]"
	}
	return fmt.Sprint(v)
}
