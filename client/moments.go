package client

import (
	"context"
	"errors"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/query"
)

// Moments says which moments of a target of the server can be restored; an older server knows nothing of moments. "" is
// where the server sends backups, or where its database was backed up to last.
func (c *Client) Moments(ctx context.Context, target string) (moments.Report, error) {
	if err := c.ready(ctx); err != nil {
		return moments.Report{}, databaseError(err)
	}
	resp, err := c.database.GetMoments(ctx, &smolwcpb.GetMomentsRequest{Target: target})
	if status.Code(err) == codes.Unimplemented {
		return moments.Report{}, nil
	}
	return reportOf(resp.GetMoments()), databaseError(err)
}

func reportOf(m *smolwcpb.Moments) moments.Report {
	r := moments.Report{Position: m.GetPosition(), Segments: int(m.GetSegments()), Bytes: m.GetBytes(), Bases: int(m.GetBackups()), Damage: damageOf(m.GetDamage())}
	r.Earliest, r.Latest = timeOf(m.GetEarliest()), timeOf(m.GetLatest())
	for _, g := range m.GetGaps() {
		r.Gaps = append(r.Gaps, moments.Gap{From: timeOf(g.GetFrom()), To: timeOf(g.GetTo()), Reason: g.GetReason()})
	}
	return r
}

// timeOf is the zero time for a message that is missing.
func timeOf(m *timestamppb.Timestamp) (t time.Time) {
	if m != nil {
		t = m.AsTime()
	}
	return t
}

// VerifyMoments makes the server verify the log in a target. It works
// like [moments.Verify], with a directory of the server.
func (c *Client) VerifyMoments(ctx context.Context, target string, o moments.VerifyOptions) (res moments.Report, err error) {
	if err := c.ready(ctx); err != nil {
		return res, databaseError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := &smolwcpb.VerifyMomentsRequest{Target: target, Sample: int32(min(o.Sample, math.MaxInt32)), Travel: travelMessage(o.Options)}
	stream, err := c.database.VerifyMoments(ctx, req)
	if err != nil {
		return res, databaseError(err)
	}
	err = followed(stream, o.Options, "verifying moments", func(m *smolwcpb.VerifyMomentsResponse) bool {
		r := m.GetReport()
		res = reportOf(r.GetMoments())
		res.Records, res.Loads, res.Samples, res.Elapsed = int(r.GetRecords()), int(r.GetLoads()), int(r.GetSamples()), r.GetElapsed().AsDuration()
		return r != nil
	})
	return res, err
}

// RestoreTable makes the server bring a table back into its database, as [moments.Local.RestoreTable] does. When the context ends, the
// server stops, and there is no table.
func (c *Client) RestoreTable(ctx context.Context, target string, t moments.TableRestore, o moments.RestoreOptions) (res moments.Restored, err error) {
	if err := c.ready(ctx); err != nil {
		return res, databaseError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := &smolwcpb.RestoreTableRequest{
		Target: target, Table: c.name(t.Table), As: c.name(t.As), Travel: travelMessage(o.Options), Source: &smolwcpb.RestoreTableRequest_Backup{Backup: int64(t.Backup)},
	}
	switch {
	case t.At == nil:
	case t.At.Position != 0:
		req.Source = &smolwcpb.RestoreTableRequest_Position{Position: t.At.Position}
	case t.At.Time.IsZero():
		return res, &query.Error{Op: "restore table", Table: t.Table, Kind: query.KindInvalidArgument, Err: errors.New("a server restores a moment with a time or a position")}
	default:
		req.Source = &smolwcpb.RestoreTableRequest_Time{Time: timestamppb.New(t.At.Time)}
	}
	stream, err := c.database.RestoreTable(ctx, req)
	if err != nil {
		return res, databaseError(err)
	}
	defer c.forget()
	var refused error
	err = followed(stream, o.Options, "restoring", func(m *smolwcpb.RestoreTableResponse) bool {
		if p := m.GetPlan(); p != nil {
			res.Plan = moments.Plan{Backup: generationOf(p.GetBackup()), Segments: int(p.GetSegments()), Bytes: p.GetBytes()}
			if o.Planned != nil && refused == nil {
				if refused = o.Planned(res.Plan); refused != nil {
					cancel()
				}
			}
			return false
		}
		r := m.GetResult()
		res.Position, res.Time, res.Until, res.Records, res.Elapsed = r.GetPosition(), timeOf(r.GetTime()), timeOf(r.GetUntil()), int(r.GetRecords()), r.GetElapsed().AsDuration()
		res.Expires = map[string]time.Duration{}
		for family, age := range r.GetExpires() {
			res.Expires[family] = age.AsDuration()
		}
		return r != nil
	})
	if refused != nil {
		return res, refused
	}
	return res, err
}
