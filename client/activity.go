package client

import (
	"context"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/api/smolwcpb"
)

// Calls are the calls of the server that the client's token may see: all of them if it may
// administer all tables, otherwise those that were made with it.
func (c *Client) Calls(ctx context.Context) (all activity.Calls, err error) {
	if err := c.ready(ctx); err != nil {
		return all, activityError("list calls", "", err)
	}
	resp, err := c.activity.ListCalls(ctx, &smolwcpb.ListCallsRequest{})
	if err != nil {
		return all, activityError("list calls", "", err)
	}
	for _, m := range resp.GetRunning() {
		all.Running = append(all.Running, c.callOf(m))
	}
	for _, m := range resp.GetSlow() {
		all.Slow = append(all.Slow, c.callOf(m))
	}
	return all, nil
}

func (c *Client) callOf(m *smolwcpb.Call) activity.Call {
	return activity.Call{
		ID: m.GetId(), Method: m.GetMethod(), Table: c.storedName(m.GetTableName()), Rows: m.GetRows(),
		RowsRead: m.GetRowsRead(), CellsRead: m.GetCellsRead(), RowsWritten: m.GetRowsWritten(),
		Began: m.GetStartTime().AsTime(), Took: m.GetElapsed().AsDuration(), Token: m.GetToken(), Peer: m.GetPeer(), Code: m.GetCode(),
	}
}

// storedName is a table's name as the client's methods take it.
func (c *Client) storedName(full string) string {
	t, err := c.own.ParseTable(full)
	if err != nil {
		return full
	}
	return t.Stored
}

// CancelCall makes the server end a call under way. Its client gets an error of kind
// KindCanceled, which says who cancelled the call; its writes stay. The error
// is of kind KindNotFound if the client may see no call under way of this id.
func (c *Client) CancelCall(ctx context.Context, id uint64) error {
	const op = "cancel a call"
	if err := c.ready(ctx); err != nil {
		return activityError(op, "", err)
	}
	_, err := c.activity.CancelCall(ctx, &smolwcpb.CancelCallRequest{Id: id})
	return activityError(op, "", err)
}

// Heat is how often rows were read and written, by the server's estimates from samples. For
// all tables it covers the tables of the client's instance.
func (c *Client) Heat(ctx context.Context, want activity.HeatRequest) (*activity.Heat, error) {
	const op = "heat"
	if err := c.ready(ctx); err != nil {
		return nil, activityError(op, want.Table, err)
	}
	req := &smolwcpb.GetHeatRequest{Name: c.own.String(), Rows: int32(max(math.MinInt32, min(want.Rows, math.MaxInt32)))}
	if want.Table != "" {
		req.Name = c.name(want.Table)
	}
	if !want.Since.IsZero() {
		req.StartTime = timestamppb.New(want.Since)
	}
	if !want.Until.IsZero() {
		req.EndTime = timestamppb.New(want.Until)
	}
	resp, err := c.activity.GetHeat(ctx, req)
	if err != nil {
		return nil, activityError(op, want.Table, err)
	}
	h := &activity.Heat{Since: resp.GetStartTime().AsTime(), Column: resp.GetColumn().AsDuration()}
	h.Until = h.Since.Add(h.Column * time.Duration(len(resp.GetColumns())))
	for _, key := range resp.GetKeys() {
		h.Keys = append(h.Keys, string(key))
	}
	for _, column := range resp.GetColumns() {
		h.Reads, h.Writes = append(h.Reads, column.GetReads()), append(h.Writes, column.GetWrites())
	}
	for _, r := range resp.GetRows() {
		h.Rows = append(h.Rows, activity.HotRow{Table: c.storedName(r.GetTableName()), Key: string(r.GetKey()), Reads: r.GetReads(), Writes: r.GetWrites()})
	}
	return h, nil
}

// activityError is the error of a call about the server's work; nil stays nil.
func activityError(op, table string, err error) error {
	if status.Code(err) == codes.Unimplemented {
		err = status.Error(codes.FailedPrecondition, "the server says nothing about its work: it is not smolwc serve, or an older one")
	}
	return clientError(op, table, "", err)
}
