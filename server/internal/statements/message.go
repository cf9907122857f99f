package statements

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/exec"
)

// message is a result as a message. Package client/remote reads it.
func message(res exec.Result) (*smolwcpb.RunStatementResponse, error) {
	m := &smolwcpb.RunStatementResponse{}
	switch res := res.(type) {
	case *exec.Done:
		m.Result = &smolwcpb.RunStatementResponse_Done{Done: res.Message}
	case *exec.Listing:
		m.Result = &smolwcpb.RunStatementResponse_Listing{Listing: listing(res)}
	case *exec.Explained:
		m.Result = &smolwcpb.RunStatementResponse_Plan{Plan: plan(res)}
	case *exec.Collected:
		m.Result = &smolwcpb.RunStatementResponse_Collected{Collected: collected(res)}
	case *exec.Counted:
		m.Result = &smolwcpb.RunStatementResponse_Counted{Counted: &smolwcpb.Counted{Rows: res.Rows, Cells: res.Cells, WithCells: res.WithCells, About: res.About}}
	case *exec.Statistics:
		s := &smolwcpb.Statistics{Families: listing(res.Families), Format: res.Format}
		for _, f := range res.Engine {
			s.Engine = append(s.Engine, &smolwcpb.Statistics_Figure{Name: f.Name, Value: field(f.Value), Unit: f.Unit})
		}
		m.Result = &smolwcpb.RunStatementResponse_Statistics{Statistics: s}
	default:
		return nil, status.Errorf(codes.Internal, "a result %T cannot be sent", res)
	}
	return m, nil
}

func listing(l *exec.Listing) *smolwcpb.Listing {
	m := &smolwcpb.Listing{Columns: l.Columns, Upright: l.Upright, Notes: l.Notes, Format: l.Format}
	for _, fields := range l.Lines {
		line := &smolwcpb.Listing_Line{}
		for _, f := range fields {
			line.Fields = append(line.Fields, field(f))
		}
		m.Lines = append(m.Lines, line)
	}
	return m
}

func field(v any) *smolwcpb.Field {
	switch v := v.(type) {
	case string:
		return &smolwcpb.Field{Kind: &smolwcpb.Field_Text{Text: v}}
	case exec.Word:
		return &smolwcpb.Field{Kind: &smolwcpb.Field_Word{Word: string(v)}}
	case int64:
		return &smolwcpb.Field{Kind: &smolwcpb.Field_Integer{Integer: v}}
	case float64:
		return &smolwcpb.Field{Kind: &smolwcpb.Field_Number{Number: v}}
	case cells.Timestamp:
		return &smolwcpb.Field{Kind: &smolwcpb.Field_TimestampMicros{TimestampMicros: int64(v)}}
	case cells.Value:
		if text, ok := v.AsString(); ok {
			return &smolwcpb.Field{Kind: &smolwcpb.Field_Value{Value: text}}
		}
		b, _ := v.AsBytes()
		return &smolwcpb.Field{Kind: &smolwcpb.Field_Data{Data: b}}
	case nil:
		return &smolwcpb.Field{}
	}
	return &smolwcpb.Field{Kind: &smolwcpb.Field_Text{Text: fmt.Sprint(v)}}
}

func plan(e *exec.Explained) *smolwcpb.Plan {
	m := &smolwcpb.Plan{Rows: e.Plan.Rows, Pushed: e.Plan.Pushed, Judged: e.Plan.Judged, Residual: e.Plan.Residual}
	for _, s := range e.Plan.Scans {
		m.Scans = append(m.Scans, &smolwcpb.Plan_Scan{
			Family: s.Family, Columns: s.Columns, SinceMicros: int64(s.Since), UntilMicros: int64(s.Until),
			Versions: int64(s.Versions), CellsPerRow: int64(s.CellsPerRow), KeysOnly: s.KeysOnly, Condition: s.Condition,
		})
	}
	if est := e.Estimate; est != nil {
		m.Estimate = &smolwcpb.Plan_Estimate{Cells: est.Cells, Bytes: est.Bytes, Share: est.Share}
	}
	if c := e.Cost; c != nil {
		m.Cost = &smolwcpb.Plan_Cost{
			Rows: c.Returned.Rows, Cells: c.Returned.Cells, Bytes: c.Returned.Bytes,
			RowsScanned: c.RowsScanned, CellsScanned: c.CellsScanned, BytesScanned: c.BytesScanned, Tombstones: c.Tombstones,
			Seeks: c.Seeks, Families: int64(c.Families), ElapsedMicros: c.Elapsed.Microseconds(),
		}
	}
	return m
}

func collected(c *exec.Collected) *smolwcpb.Collected {
	m := &smolwcpb.Collected{Table: c.Table, DryRun: c.DryRun}
	for _, f := range c.Families {
		m.Families = append(m.Families, &smolwcpb.Collected_Family{
			Family: f.Family, Scanned: f.Scanned, Surplus: f.Surplus, SurplusBytes: f.SurplusBytes, Expired: f.Expired, ExpiredBytes: f.ExpiredBytes,
		})
	}
	return m
}
