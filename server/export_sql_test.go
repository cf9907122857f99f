package server

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// CheckSQL reads, plans and evaluates a query.
func CheckSQL(text string) {
	q, err := parseSQL(text)
	if err != nil {
		_ = sqlStatus(text, err)
		return
	}
	t := schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "n", Type: cells.TypeI64}}}
	types := map[string]sqlType{"p": {kind: typeTimestamp}, "n": {kind: typeInt64}, "keys": arrayOf(sqlType{kind: typeBytes}), "d": {kind: typeDate}}
	if q.table == "" {
		t = schema.Table{}
	}
	if _, err := planSQL(q, t, types, nil); err != nil {
		_ = sqlStatus(text, err)
		return
	}
	p, err := planSQL(q, t, types, map[string]any{"p": cells.Timestamp(5), "n": int64(7), "keys": sqlArray{[]byte("a"), nil}, "d": sqlDate(7)})
	if err != nil {
		_ = sqlStatus(text, err)
		return
	}
	_ = p.metadata()
	x := sqlExecution{plan: p}
	keys, _, _ := x.bounds()
	_ = keys.options()
	row := query.NewRow("a", []cells.Cell{
		{Family: "f", Qualifier: "x", Timestamp: 9, Value: cells.Bytes([]byte("12345678"))},
		{Family: "n", Qualifier: "y", Timestamp: 9, Value: cells.I64(-3)},
	})
	if q.table == "" {
		row = nil
	}
	if wanted, err := x.wants(row); wanted && err == nil {
		_ = x.row(row)
	}
}
