package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// RunStatement implements [exec.Remote].
func (d Database) RunStatement(ctx context.Context, want exec.ServedStatement) (exec.Result, error) {
	req := &smolwcpb.RunStatementRequest{Text: want.Text, Versions: int64(want.Versions), Limit: int64(want.Limit)}
	if want.Confirm != nil {
		req.Answer = smolwcpb.RunStatementRequest_ASK
	}
	resp, err := d.Client.RunStatement(ctx, req)
	if err == nil && resp.GetQuestion() != "" && want.Confirm != nil {
		var yes bool
		if yes, err = want.Confirm(resp.GetQuestion()); err != nil {
			return nil, err
		}
		req.Answer = smolwcpb.RunStatementRequest_NO
		if yes {
			req.Answer = smolwcpb.RunStatementRequest_YES
		}
		resp, err = d.Client.RunStatement(ctx, req)
	}
	if err != nil {
		return nil, err
	}
	return result(resp)
}

// result converts a message back to the result that the server made it from.
func result(m *smolwcpb.RunStatementResponse) (exec.Result, error) {
	switch m := m.GetResult().(type) {
	case *smolwcpb.RunStatementResponse_Done:
		return &exec.Done{Message: m.Done}, nil
	case *smolwcpb.RunStatementResponse_Listing:
		return listing(m.Listing), nil
	case *smolwcpb.RunStatementResponse_Plan:
		return explained(m.Plan), nil
	case *smolwcpb.RunStatementResponse_Collected:
		return collected(m.Collected), nil
	case *smolwcpb.RunStatementResponse_Counted:
		c := m.Counted
		return &exec.Counted{Count: query.Count{Rows: c.GetRows(), Cells: c.GetCells()}, WithCells: c.GetWithCells(), About: c.GetAbout()}, nil
	case *smolwcpb.RunStatementResponse_Statistics:
		s := &exec.Statistics{Families: listing(m.Statistics.GetFamilies()), Format: m.Statistics.GetFormat()}
		for _, f := range m.Statistics.GetEngine() {
			s.Engine = append(s.Engine, exec.Figure{Name: f.GetName(), Value: field(f.GetValue()), Unit: f.GetUnit()})
		}
		return s, nil
	}
	return nil, &query.Error{Op: "run statement", Kind: query.KindFailedPrecondition, Err: fmt.Errorf("the server sends a result that this version does not know: %T", m.GetResult())}
}

func listing(m *smolwcpb.Listing) *exec.Listing {
	l := &exec.Listing{Columns: m.GetColumns(), Upright: m.GetUpright(), Notes: m.GetNotes(), Format: m.GetFormat()}
	for _, line := range m.GetLines() {
		var fields []any
		for _, f := range line.GetFields() {
			fields = append(fields, field(f))
		}
		l.Lines = append(l.Lines, fields)
	}
	return l
}

func field(m *smolwcpb.Field) any {
	switch k := m.GetKind().(type) {
	case *smolwcpb.Field_Text:
		return k.Text
	case *smolwcpb.Field_Word:
		return exec.Word(k.Word)
	case *smolwcpb.Field_Value:
		return cells.String(k.Value)
	case *smolwcpb.Field_Data:
		return cells.Bytes(k.Data)
	case *smolwcpb.Field_Integer:
		return k.Integer
	case *smolwcpb.Field_Number:
		return k.Number
	case *smolwcpb.Field_TimestampMicros:
		return cells.Timestamp(k.TimestampMicros)
	}
	return nil
}

func explained(m *smolwcpb.Plan) *exec.Explained {
	e := &exec.Explained{Plan: query.Plan{Rows: m.GetRows(), Pushed: m.GetPushed(), Judged: m.GetJudged(), Residual: m.GetResidual()}}
	for _, s := range m.GetScans() {
		e.Plan.Scans = append(e.Plan.Scans, query.ScanPlan{
			Family: s.GetFamily(), Columns: s.GetColumns(), Since: cells.Timestamp(s.GetSinceMicros()), Until: cells.Timestamp(s.GetUntilMicros()),
			Versions: int(s.GetVersions()), CellsPerRow: int(s.GetCellsPerRow()), KeysOnly: s.GetKeysOnly(), Condition: s.GetCondition(),
		})
	}
	if est := m.GetEstimate(); est != nil {
		e.Estimate = &exec.Estimate{Cells: est.GetCells(), Bytes: est.GetBytes(), Share: est.GetShare()}
	}
	if c := m.GetCost(); c != nil {
		e.Cost = &exec.Cost{
			Cost: read.Cost{
				RowsScanned: c.GetRowsScanned(), CellsScanned: c.GetCellsScanned(), BytesScanned: c.GetBytesScanned(), Tombstones: c.GetTombstones(),
				Seeks: c.GetSeeks(), Families: int(c.GetFamilies()),
			},
			Returned: exec.Amount{Rows: c.GetRows(), Cells: c.GetCells(), Bytes: c.GetBytes()},
			Elapsed:  time.Duration(c.GetElapsedMicros()) * time.Microsecond,
		}
	}
	return e
}

func collected(m *smolwcpb.Collected) *exec.Collected {
	c := &exec.Collected{GCReport: query.GCReport{Table: m.GetTable(), DryRun: m.GetDryRun()}}
	for _, f := range m.GetFamilies() {
		c.Families = append(c.Families, query.GCFamily{
			Family: f.GetFamily(), Scanned: f.GetScanned(), Surplus: f.GetSurplus(), SurplusBytes: f.GetSurplusBytes(), Expired: f.GetExpired(), ExpiredBytes: f.GetExpiredBytes(),
		})
	}
	return c
}
