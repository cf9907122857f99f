package admin

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/internal/account"
)

// winners are by the numbers of the request.
var winners = map[smolwcpb.MergeBranchRequest_Winner]branch.Winner{
	smolwcpb.MergeBranchRequest_WINNER_UNSPECIFIED: branch.NoWinner, smolwcpb.MergeBranchRequest_OURS: branch.Ours, smolwcpb.MergeBranchRequest_THEIRS: branch.Theirs,
}

// MergeBranch merges a branch. Only one is merged at a time.
func (s *databaseService) MergeBranch(ctx context.Context, req *smolwcpb.MergeBranchRequest) (*smolwcpb.MergeBranchResponse, error) {
	winner, ok := winners[req.GetWinner()]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "unknown winner %v", req.GetWinner())
	}
	if err := branch.CheckName(req.GetBranch()); err != nil {
		return nil, wire.Invalid("%v", err)
	}
	select {
	case s.merging <- struct{}{}:
		defer func() { <-s.merging }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, hold := account.Holding(ctx)
	defer hold.Release()
	if err := hold.Hold(branch.MergeMemory, true); err != nil {
		return nil, err
	}
	b, checkpoint, err := s.Branch(req.GetBranch())
	if err != nil {
		return nil, err
	}
	report, err := branch.Merge(ctx, s.db, b, branch.MergeOptions{Winner: winner, DryRun: req.GetDryRun(), Checkpoint: checkpoint})
	if err != nil && (!errors.Is(err, branch.ErrConflicts) || report.Conflicts == 0) {
		return nil, err
	}
	resp := &smolwcpb.MergeBranchResponse{Rows: report.Rows, Cells: report.Cells, Conflicts: report.Conflicts, Commits: int64(report.Commits)}
	for _, c := range report.Schema.Changes {
		resp.Created = append(resp.Created, c.String())
	}
	for _, c := range report.First {
		resp.First = append(resp.First, &smolwcpb.MergeBranchResponse_Conflict{
			Table: c.Table, Row: []byte(c.Row), Family: c.Family, Qualifier: []byte(c.Qualifier), Base: encoded(c.Base), Ours: encoded(c.Ours), Theirs: encoded(c.Theirs),
		})
	}
	return resp, nil
}

// encoded is a value as it is stored, and nothing for no value.
func encoded(v cells.Value) []byte {
	if v.Type() == cells.TypeAny {
		return nil
	}
	return cells.AppendValue(nil, v)
}
