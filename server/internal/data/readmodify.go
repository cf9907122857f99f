package data

import (
	"context"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server/internal/account"
)

// ReadModifyWriteRow appends to values and increments integers of a row, and
// returns the cells that it wrote.
func (s *service) ReadModifyWriteRow(ctx context.Context, req *bigtablepb.ReadModifyWriteRowRequest) (resp *bigtablepb.ReadModifyWriteRowResponse, err error) {
	if len(req.GetRules()) == 0 {
		return nil, wire.Invalid("No rules provided")
	}
	err = s.Under(ctx, func(ctx context.Context) (err error) {
		resp, err = s.readModifyWriteRow(ctx, req)
		return err
	})
	return resp, err
}

func (s *service) readModifyWriteRow(ctx context.Context, req *bigtablepb.ReadModifyWriteRowRequest) (*bigtablepb.ReadModifyWriteRowResponse, error) {
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
	return modified(req, row, mutator.exact), nil
}

// A modifiedCell is a cell in the answer to a ReadModifyWriteRow, one for each column.
type modifiedCell struct {
	column bigtablepb.Column
	cell   bigtablepb.Cell
	alone  [1]*bigtablepb.Cell
	room   [8]byte
}

// modified is the answer to a request: the row that it wrote, with the types of values if
// exact is set. It shares the bytes of the request and of the row. The answer for a single
// cell is two allocations.
func modified(req *bigtablepb.ReadModifyWriteRowRequest, row *query.Row, exact bool) *bigtablepb.ReadModifyWriteRowResponse {
	m := new(struct {
		response bigtablepb.ReadModifyWriteRowResponse
		row      bigtablepb.Row
		family   bigtablepb.Family
		families [1]*bigtablepb.Family
		columns  [1]*bigtablepb.Column
	})
	m.response.Row = &m.row
	m.row.Key, m.row.Families = req.GetRowKey(), m.families[:0]
	written := make([]modifiedCell, row.Len())
	i := 0
	var family *bigtablepb.Family
	for c := range row.Cells() {
		if family == nil {
			family = &m.family
			family.Name, family.Columns = c.Family, m.columns[:0]
			m.row.Families = append(m.row.Families, family)
		} else if family.Name != c.Family {
			family = &bigtablepb.Family{Name: c.Family}
			m.row.Families = append(m.row.Families, family)
		}
		w := &written[i]
		i++
		w.cell.TimestampMicros, w.cell.Value = int64(c.Timestamp), wire.ValueBytes(c.Value, &w.room)
		if exact {
			wire.SetExact(&w.cell, c.Value.Type())
		}
		w.alone[0] = &w.cell
		w.column.Qualifier, w.column.Cells = wire.Bytes(c.Qualifier), w.alone[:]
		family.Columns = append(family.Columns, &w.column)
	}
	return &m.response
}
