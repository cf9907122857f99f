package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/calls"
)

// Calls are the calls of all clients: those under way, and the slowest ones that have ended
// in the last hour or two. The calls of health and reflection are not among them.
func (s *Server) Calls() activity.Calls {
	if !s.made() {
		return activity.Calls{}
	}
	return s.calls.List(time.Now(), anyToken)
}

func anyToken(*access.Token) bool { return true }

// CancelCall ends the call of an id with CANCELLED. by tells its client who cancelled it,
// such as the operator. The call's writes until then stay. An unknown id is an error
// of kind KindNotFound.
func (s *Server) CancelCall(id uint64, by string) error {
	if !s.made() {
		return serveError("there is no server; New gives one")
	}
	if err := s.calls.Cancel(id, by, anyToken); err != nil {
		return notFound("cancel a call", err)
	}
	return nil
}

// Heat is how often rows were read and written, by estimates from samples. Samples are kept
// for up to 14 days in memory. Since must be before Until, unless one of them is zero. The
// error is of kind KindNotFound if there is no such table.
func (s *Server) Heat(want activity.HeatRequest) (*activity.Heat, error) {
	if !s.made() {
		return nil, serveError("there is no server; New gives one")
	}
	if err := checkHeat(want); err != nil {
		return nil, serveError(err.Error())
	}
	if want.Table != "" {
		if _, err := s.catalog.LookUp(s.catalog.Own.StoredTable(want.Table).String()); err != nil {
			return nil, notFound("heat", err)
		}
	}
	return s.catalog.Heat.Report(want, s.exists), nil
}

func (s *Server) exists(table string) bool {
	_, ok := s.catalog.DB.LookupTable(table)
	return ok
}

func checkHeat(want activity.HeatRequest) error {
	switch {
	case want.Rows < 0:
		return fmt.Errorf("the number of rows is %d; it must not be negative", want.Rows)
	case !want.Since.IsZero() && !want.Until.IsZero() && !want.Since.Before(want.Until):
		return fmt.Errorf("the time begins at %s and must end after that, not at %s", want.Since.Format(time.RFC3339), want.Until.Format(time.RFC3339))
	}
	return nil
}

// An activityService is smolwc.admin.v1.ServerActivity.
type activityService struct {
	smolwcpb.UnimplementedServerActivityServer
	*Server
}

// sees are the tokens whose calls a call may see and cancel.
func sees(ctx context.Context) func(*access.Token) bool {
	own := access.TokenOf(ctx)
	if own.Administers() {
		return anyToken
	}
	return func(other *access.Token) bool { return other != nil && other.ID == own.ID }
}

func (a activityService) ListCalls(ctx context.Context, _ *smolwcpb.ListCallsRequest) (*smolwcpb.ListCallsResponse, error) {
	all := a.calls.List(time.Now(), sees(ctx))
	resp := &smolwcpb.ListCallsResponse{}
	for _, c := range all.Running {
		if !strings.HasSuffix(smolwcpb.ServerActivity_ListCalls_FullMethodName, c.Method) { // not the question itself
			resp.Running = append(resp.Running, a.callMessage(c))
		}
	}
	for _, c := range all.Slow {
		resp.Slow = append(resp.Slow, a.callMessage(c))
	}
	return resp, nil
}

func (a activityService) callMessage(c activity.Call) *smolwcpb.Call {
	m := &smolwcpb.Call{
		Id: c.ID, Method: c.Method, Rows: strings.ToValidUTF8(c.Rows, "\uFFFD"), RowsRead: c.RowsRead, CellsRead: c.CellsRead, RowsWritten: c.RowsWritten,
		StartTime: timestamppb.New(c.Began), Elapsed: durationpb.New(c.Took), Token: c.Token, Peer: c.Peer, Code: c.Code,
	}
	if c.Table != "" {
		m.TableName = a.catalog.Own.StoredTable(c.Table).String()
	}
	return m
}

func (a activityService) CancelCall(ctx context.Context, req *smolwcpb.CancelCallRequest) (*smolwcpb.CancelCallResponse, error) {
	by := "a client"
	if token := access.TokenOf(ctx); token != nil {
		by = fmt.Sprintf("token %q", token.Name)
	} else if c := calls.Of(ctx); c != nil && c.Peer != nil {
		by = "a client at " + c.Peer.String()
	}
	return &smolwcpb.CancelCallResponse{}, a.calls.Cancel(req.GetId(), by, sees(ctx))
}

func (a activityService) GetHeat(ctx context.Context, req *smolwcpb.GetHeatRequest) (*smolwcpb.GetHeatResponse, error) {
	want := activity.HeatRequest{Since: timeOf(req.GetStartTime()), Until: timeOf(req.GetEndTime()), Rows: int(req.GetRows())}
	if err := checkHeat(want); err != nil {
		return nil, wire.Invalid("%v", err)
	}
	mayRead := a.exists
	if in, err := wire.ParseInstance(req.GetName()); err == nil {
		mayRead = func(table string) bool {
			return a.catalog.Own.StoredTable(table).In == in && a.exists(table) && access.MayRead(ctx, table)
		}
	} else {
		t, err := a.catalog.Own.ParseTable(req.GetName())
		if err != nil {
			return nil, wire.Invalid("name %q is neither an instance nor a table: projects/P/instances/I or projects/P/instances/I/tables/T", req.GetName())
		}
		if !access.MayRead(ctx, t.Stored) {
			return nil, status.Errorf(codes.PermissionDenied, "token %q has no right to read table %s", access.TokenOf(ctx).Name, t.Stored)
		}
		if _, err := a.catalog.LookUp(req.GetName()); err != nil {
			return nil, err
		}
		want.Table = t.Stored
	}
	return a.heatMessage(a.catalog.Heat.Report(want, mayRead)), nil
}

// timeOf is the time of a message, zero without one.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func (a activityService) heatMessage(h *activity.Heat) *smolwcpb.GetHeatResponse {
	m := &smolwcpb.GetHeatResponse{StartTime: timestamppb.New(h.Since), Column: durationpb.New(h.Column)}
	for _, key := range h.Keys {
		m.Keys = append(m.Keys, []byte(key))
	}
	for i := range h.Reads {
		m.Columns = append(m.Columns, &smolwcpb.GetHeatResponse_Column{Reads: slices.Clone(h.Reads[i]), Writes: slices.Clone(h.Writes[i])})
	}
	for _, r := range h.Rows {
		m.Rows = append(m.Rows, &smolwcpb.GetHeatResponse_HotRow{TableName: a.catalog.Own.StoredTable(r.Table).String(), Key: []byte(r.Key), Reads: r.Reads, Writes: r.Writes})
	}
	return m
}
