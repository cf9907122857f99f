package data

import (
	"context"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server/internal/account"
)

// ReadModifyWriteRow appends to values and increments integers of a row, and
// returns the cells that it wrote.
func (s *service) ReadModifyWriteRow(ctx context.Context, req *bigtablepb.ReadModifyWriteRowRequest) (*bigtablepb.ReadModifyWriteRowResponse, error) {
	if len(req.GetRules()) == 0 {
		return nil, wire.Invalid("No rules provided")
	}
	t, err := s.openRow(req, len(req.GetRules()))
	if err != nil {
		return nil, err
	}
	mutator := s.newMutator(ctx, t)
	m := write.NewReadModifyWrite()
	m.RoundTimestamp(mutator.round)
	for i, r := range req.GetRules() {
		f, err := mutator.column(r.GetFamilyName(), r.GetColumnQualifier())
		if err != nil {
			return nil, err
		}
		qualifier := wire.Text(r.GetColumnQualifier())
		switch rule := r.GetRule().(type) {
		case *bigtablepb.ReadModifyWriteRule_AppendValue:
			if mutator.exact && wire.ExactOf(r) == cells.TypeString {
				m.AppendString(f.Name, qualifier, wire.Text(rule.AppendValue))
			} else {
				m.AppendValue(f.Name, qualifier, rule.AppendValue)
			}
		case *bigtablepb.ReadModifyWriteRule_IncrementAmount:
			if !mutator.exact && (f.Type == cells.TypeAny || f.Type == cells.TypeBytes) {
				m.IncrementBytes(f.Name, qualifier, rule.IncrementAmount)
			} else {
				m.Increment(f.Name, qualifier, rule.IncrementAmount)
			}
		default:
			return nil, wire.Invalid("rule %d says nothing to do", i)
		}
	}
	ctx, h := account.Holding(ctx)
	defer h.Release()
	row, err := t.ApplyReadModifyWrite(ctx, wire.Text(req.GetRowKey()), m)
	if err != nil {
		return nil, t.Status(ctx, err)
	}
	return &bigtablepb.ReadModifyWriteRowResponse{Row: rowMessage(row, mutator.exact)}, nil
}

// rowMessage is a row as a message, which has the types of values if exact is set.
func rowMessage(row *query.Row, exact bool) *bigtablepb.Row {
	m := &bigtablepb.Row{Key: []byte(row.Key())}
	var family *bigtablepb.Family
	var column *bigtablepb.Column
	for c := range row.Cells() {
		if family == nil || family.Name != c.Family {
			family, column = &bigtablepb.Family{Name: c.Family}, nil
			m.Families = append(m.Families, family)
		}
		if column == nil || string(column.Qualifier) != c.Qualifier {
			column = &bigtablepb.Column{Qualifier: []byte(c.Qualifier)}
			family.Columns = append(family.Columns, column)
		}
		cell := &bigtablepb.Cell{TimestampMicros: int64(c.Timestamp), Value: wire.AppendValue(nil, c.Value)}
		if exact {
			wire.SetExact(cell, c.Value.Type())
		}
		column.Cells = append(column.Cells, cell)
	}
	return m
}
