package client

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
)

// A BranchMerge is the result of [Client.MergeBranch].
type BranchMerge struct {
	branch.MergeReport // its Schema is empty
	// Created are the tables and families that were created, in words.
	Created []string
}

// MergeBranch makes the changes of a branch in the server's database, as [branch.Merge] does;
// both may be in use. o.Checkpoint is not used. It needs the right to administer all tables.
func (c *Client) MergeBranch(ctx context.Context, name string, o branch.MergeOptions) (m BranchMerge, err error) {
	if err := c.ready(ctx); err != nil {
		return m, databaseError(err)
	}
	req := &smolwcpb.MergeBranchRequest{Branch: name, DryRun: o.DryRun}
	switch o.Winner {
	case branch.Ours:
		req.Winner = smolwcpb.MergeBranchRequest_OURS
	case branch.Theirs:
		req.Winner = smolwcpb.MergeBranchRequest_THEIRS
	}
	resp, err := c.database.MergeBranch(ctx, req)
	if err != nil {
		return m, databaseError(err)
	}
	m.MergeReport = branch.MergeReport{Rows: resp.GetRows(), Cells: resp.GetCells(), Conflicts: resp.GetConflicts(), Commits: int(resp.GetCommits())}
	m.Created = resp.GetCreated()
	for _, f := range resp.GetFirst() {
		conflict := branch.Conflict{Table: f.GetTable(), Row: string(f.GetRow()), Family: f.GetFamily(), Qualifier: string(f.GetQualifier())}
		for _, v := range []struct {
			to   *cells.Value
			from []byte
		}{{&conflict.Base, f.GetBase()}, {&conflict.Ours, f.GetOurs()}, {&conflict.Theirs, f.GetTheirs()}} {
			if len(v.from) == 0 {
				continue
			}
			if *v.to, err = cells.DecodeValue(v.from); err != nil {
				return m, &query.Error{Op: "merge branch", Kind: query.KindInternal, Err: fmt.Errorf("the server's answer: %w", err)}
			}
		}
		m.First = append(m.First, conflict)
	}
	if m.Conflicts > 0 && o.Winner == branch.NoWinner {
		return m, &query.Error{Op: "merge branch", Kind: query.KindConflict, Err: fmt.Errorf("%w: %d; nothing was written", branch.ErrConflicts, m.Conflicts)}
	}
	return m, nil
}

// CheckBranch fails unless the server serves a branch of this name as an instance: with the kind
// NotFound without the branch, FailedPrecondition if the server serves no branches, or if tables
// of its database hide this one. It needs the right to read all tables of the branch.
func (c *Client) CheckBranch(ctx context.Context, name string) error {
	const op = "check branch"
	if err := c.ready(ctx); err != nil {
		return databaseError(err)
	}
	_, err := c.instances.GetInstance(ctx, &adminpb.GetInstanceRequest{Name: c.branch(name)})
	return branchError(op, name, err)
}

// branch is the name of a branch among resources.
func (c *Client) branch(name string) string {
	return wire.Instance{Project: c.own.Project, ID: name}.Branch()
}

func branchError(op, name string, err error) error {
	if status.Code(err) == codes.InvalidArgument && branch.CheckName(name) == nil {
		return &query.Error{Op: op, Kind: query.KindFailedPrecondition, Err: errors.New("the server does not serve branches, as smolwc serve --branches does")}
	}
	return clientError(op, "", "", err)
}

// DropBranch removes a branch that the server serves as an instance, with all of its files.
// Calls about it are cancelled. It needs the right to administer all tables of the branch.
func (c *Client) DropBranch(ctx context.Context, name string) error {
	if err := c.ready(ctx); err != nil {
		return databaseError(err)
	}
	_, err := c.instances.DeleteInstance(ctx, &adminpb.DeleteInstanceRequest{Name: c.branch(name)})
	return branchError("drop branch", name, err)
}
