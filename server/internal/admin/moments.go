package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/internal/osfile"
)

// restoringDir is where restored copies are, in the database's directory, while a call needs them.
const restoringDir = "restoring"

// GetMoments says which moments of a target can be restored.
func (s *databaseService) GetMoments(ctx context.Context, req *smolwcpb.GetMomentsRequest) (*smolwcpb.GetMomentsResponse, error) {
	target, err := s.readable(ctx, req.GetTarget())
	if err != nil {
		return nil, err
	}
	r, err := s.local().Moments(ctx, target)
	if err != nil {
		return nil, err
	}
	return &smolwcpb.GetMomentsResponse{Moments: momentsMessage(r)}, nil
}

func momentsMessage(r moments.Report) *smolwcpb.Moments {
	m := &smolwcpb.Moments{Position: r.Position, Segments: int64(r.Segments), Bytes: r.Bytes, Backups: int64(r.Bases), Damage: damageMessages(r.Damage)}
	if !r.Earliest.IsZero() {
		m.Earliest, m.Latest = timestamppb.New(r.Earliest), timestamppb.New(r.Latest)
	}
	for _, g := range r.Gaps[max(0, len(r.Gaps)-mostDamage):] {
		gap := &smolwcpb.Moments_Gap{From: timestamppb.New(g.From), Reason: g.Reason}
		if !g.To.IsZero() {
			gap.To = timestamppb.New(g.To)
		}
		m.Gaps = append(m.Gaps, gap)
	}
	return m
}

// VerifyMoments verifies the log in a target, and stops when the client goes.
func (s *databaseService) VerifyMoments(req *smolwcpb.VerifyMomentsRequest, stream smolwcpb.DatabaseAdmin_VerifyMomentsServer) error {
	if req.GetSample() < 0 {
		return status.Errorf(codes.InvalidArgument, "sample is %d; it must not be negative", req.GetSample())
	}
	target, err := s.readable(stream.Context(), req.GetTarget())
	if err != nil {
		return err
	}
	dir, done, err := s.restoring()
	if err != nil {
		return err
	}
	defer done()
	ctx, report, stop := reporting(stream.Context(), func(p *smolwcpb.Progress) error {
		return stream.Send(&smolwcpb.VerifyMomentsResponse{Response: &smolwcpb.VerifyMomentsResponse_Progress{Progress: p}})
	})
	defer stop()
	o, err := travelling(req.GetTravel(), report)
	if err != nil {
		return err
	}
	r, err := s.local().VerifyMoments(ctx, target, moments.VerifyOptions{Options: o, Sample: int(req.GetSample()), Dir: dir, Planned: fits(dir)})
	stop()
	if err != nil && !errors.Is(err, archive.ErrDamaged) {
		return err
	}
	m := &smolwcpb.VerifyMomentsResponse_Report{
		Moments: momentsMessage(r), Records: int64(r.Records), Loads: int64(r.Loads), Samples: int64(r.Samples), Elapsed: durationpb.New(r.Elapsed),
	}
	return errors.Join(stream.Send(&smolwcpb.VerifyMomentsResponse{Response: &smolwcpb.VerifyMomentsResponse_Report_{Report: m}}), err)
}

// RestoreTable brings a table back, and stops when the client goes.
func (s *databaseService) RestoreTable(req *smolwcpb.RestoreTableRequest, stream smolwcpb.DatabaseAdmin_RestoreTableServer) error {
	t, err := s.tableRestore(req)
	if err != nil {
		return err
	}
	target, err := s.readable(stream.Context(), req.GetTarget())
	if err != nil {
		return err
	}
	dir, done, err := s.restoring()
	if err != nil {
		return err
	}
	defer done()
	t.Dir = dir
	ctx, report, stop := reporting(stream.Context(), func(p *smolwcpb.Progress) error {
		return stream.Send(&smolwcpb.RestoreTableResponse{Response: &smolwcpb.RestoreTableResponse_Progress{Progress: p}})
	})
	defer stop()
	o, err := travelling(req.GetTravel(), report)
	if err != nil {
		return err
	}
	planned := func(p moments.Plan) error { // before anything is reported
		if err := fits(dir)(p); err != nil {
			return err
		}
		plan := &smolwcpb.RestoreTableResponse_Plan{Backup: backupMessage(p.Backup), Segments: int64(p.Segments), Bytes: p.Bytes}
		return stream.Send(&smolwcpb.RestoreTableResponse{Response: &smolwcpb.RestoreTableResponse_Plan_{Plan: plan}})
	}
	res, err := s.local().RestoreTable(ctx, target, t, moments.RestoreOptions{RestoreOptions: archive.RestoreOptions{Options: o}, Planned: planned})
	stop()
	if err != nil {
		return err
	}
	s.Logger.Info("restored a table", "target", target, "table", t.Table, "as", t.As, "moment", res.Until, "duration", res.Elapsed)
	m := &smolwcpb.RestoreTableResponse_Result{
		Position: res.Position, Time: timestamppb.New(res.Time), Until: timestamppb.New(res.Until), Records: int64(res.Records),
		Elapsed: durationpb.New(res.Elapsed), Expires: map[string]*durationpb.Duration{},
	}
	for family, age := range res.Expires {
		m.Expires[family] = durationpb.New(age)
	}
	return stream.Send(&smolwcpb.RestoreTableResponse{Response: &smolwcpb.RestoreTableResponse_Result_{Result: m}})
}

// tableRestore describes a request. A request
// without a table is refused before anything is read.
func (s *databaseService) tableRestore(req *smolwcpb.RestoreTableRequest) (t moments.TableRestore, err error) {
	from, err := s.Own.ParseTable(req.GetTable())
	if err != nil {
		return t, err
	}
	to, err := s.Own.ParseTable(req.GetAs())
	if err != nil {
		return t, err
	}
	if err := wire.CheckTableID(to.ID); err != nil {
		return t, err
	}
	if s.Follows {
		return t, status.Error(codes.FailedPrecondition, "this server takes no writes, so that it cannot restore a table; ask the one that does")
	}
	if _, there := s.db.LookupTable(to.Stored); there {
		return t, status.Errorf(codes.AlreadyExists, "table %q already exists; it is left alone", to)
	}
	t.Table, t.As = from.Stored, to.Stored
	switch source := req.GetSource().(type) {
	case *smolwcpb.RestoreTableRequest_Backup:
		if source.Backup < 0 {
			return t, status.Errorf(codes.InvalidArgument, "backup is %d; backups are counted from 1, and 0 is the newest", source.Backup)
		}
		t.Backup = int(source.Backup)
	case *smolwcpb.RestoreTableRequest_Time:
		if err := source.Time.CheckValid(); err != nil {
			return t, status.Errorf(codes.InvalidArgument, "time: %v", err)
		}
		t.At = &moments.Moment{Time: source.Time.AsTime()}
	case *smolwcpb.RestoreTableRequest_Position:
		if source.Position == 0 {
			return t, status.Error(codes.InvalidArgument, "position is 0; name one of the log")
		}
		t.At = &moments.Moment{Position: source.Position}
	}
	return t, nil
}

// restoring gives a call the directory for restored copies: there is one copy at
// a time. done removes its remains.
func (s *databaseService) restoring() (dir string, done func(), err error) {
	if s.db.Plumbing().FilesDir() == "" {
		return "", nil, status.Error(codes.FailedPrecondition, "the database is not in a directory, where a backup can be restored beside it")
	}
	if !s.restores.TryLock() {
		return "", nil, status.Error(codes.FailedPrecondition, "another restore or verification is at work here; wait for its end, or cancel it")
	}
	dir = filepath.Join(s.db.Plumbing().FilesDir(), restoringDir)
	done = func() {
		if err := os.RemoveAll(dir); err != nil {
			s.Logger.Warn("a restored copy cannot be removed; the next start of the server tries again", "dir", dir, "err", err)
		}
		s.restores.Unlock()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		done()
		return "", nil, fmt.Errorf("a backup cannot be restored here: %w", err)
	}
	return dir, done, nil
}

// fits refuses a plan that needs more room than a directory's disk offers.
func fits(dir string) func(moments.Plan) error {
	return func(p moments.Plan) error {
		free, err := osfile.Free(dir)
		if err != nil {
			return err
		}
		return p.Fits(free)
	}
}

// readable is the target that a request names, if clients may read it: the places of BackupTo, and where the server
// itself sends backups, which is the default.
func (s *databaseService) readable(ctx context.Context, named string) (string, error) {
	if named == "" && s.Target != "" {
		return s.Target, nil
	}
	if s.Target != "" && (archive.Places{s.Target}).Allow(named) == nil {
		return named, nil
	}
	return s.named(ctx, named)
}

// tidy removes a killed server's remains.
func (s *databaseService) tidy() {
	if s.db.Plumbing().FilesDir() == "" {
		return
	}
	if err := os.RemoveAll(filepath.Join(s.db.Plumbing().FilesDir(), restoringDir)); err != nil {
		s.Logger.Warn("a restored copy that was left cannot be removed", "err", err)
	}
}
