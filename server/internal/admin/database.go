package admin

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/query"
)

// A databaseService is smolwc.admin.v1.DatabaseAdmin.
type databaseService struct {
	smolwcpb.UnimplementedDatabaseAdminServer
	DatabaseOptions
	db       *query.DB
	restores sync.Mutex    // held by the call that uses a restored copy
	merging  chan struct{} // full while a branch is merged
}

// A BranchOf looks up a branch by its name. checkpoint copies it if the server may have it
// open, and is nil otherwise.
type BranchOf = func(name string) (b branch.Branch, checkpoint func(context.Context, string) error, err error)

// DatabaseOptions say what clients may do with the database.
type DatabaseOptions struct {
	Own      wire.Instance
	BackupTo archive.Places // to which they may back up and copy the database
	Target   string         // where the server itself sends backups; "" for nowhere
	Follows  bool           // the server takes no writes
	Logger   *slog.Logger
	Branch   BranchOf
}

// RegisterDatabase adds the service of a database to a gRPC server.
func RegisterDatabase(to grpc.ServiceRegistrar, db *query.DB, o DatabaseOptions) {
	s := &databaseService{DatabaseOptions: o, db: db, merging: make(chan struct{}, 1)}
	s.tidy()
	smolwcpb.RegisterDatabaseAdminServer(to, s)
}

func (s *databaseService) local() moments.Local {
	return moments.Local{Local: archive.Local{DB: s.db}}
}

// BackUp backs the database up, and stops when the client goes.
func (s *databaseService) BackUp(req *smolwcpb.BackUpRequest, stream smolwcpb.DatabaseAdmin_BackUpServer) error {
	if req.GetKeep() < 0 {
		return status.Errorf(codes.InvalidArgument, "keep is %d; it must not be negative", req.GetKeep())
	}
	target, err := s.named(stream.Context(), req.GetTarget())
	if err != nil {
		return err
	}
	ctx, report, stop := reporting(stream.Context(), func(p *smolwcpb.Progress) error {
		return stream.Send(&smolwcpb.BackUpResponse{Response: &smolwcpb.BackUpResponse_Progress{Progress: p}})
	})
	defer stop()
	o, err := travelling(req.GetTravel(), report)
	if err != nil {
		return err
	}
	res, err := s.local().BackUp(ctx, target, archive.BackupOptions{Options: o, Keep: int(req.GetKeep())})
	stop()
	if res.ID == 0 {
		return err
	}
	s.Logger.Info("backed up", "target", target, "backup", res.ID, "sent_bytes", res.SentBytes, "duration", res.Elapsed)
	return errors.Join(err, stream.Send(&smolwcpb.BackUpResponse{Response: &smolwcpb.BackUpResponse_Result_{Result: resultMessage(res)}}))
}

func resultMessage(res archive.BackupResult) *smolwcpb.BackUpResponse_Result {
	return &smolwcpb.BackUpResponse_Result{
		Backup: backupMessage(res.Generation), SentBytes: res.SentBytes, SentFiles: int64(res.SentFiles),
		PrunedBackups: int64(res.Pruned.Generations), PrunedObjects: int64(res.Pruned.Objects), PrunedBytes: res.Pruned.Bytes,
		Elapsed: durationpb.New(res.Elapsed),
	}
}

func backupMessage(g archive.Generation) *smolwcpb.Backup {
	if g.Damaged != "" {
		return &smolwcpb.Backup{Id: int64(g.ID), Damaged: g.Damaged}
	}
	return &smolwcpb.Backup{
		Id: int64(g.ID), Time: timestamppb.New(g.Time), SizeBytes: g.Size, NewBytes: g.NewBytes, Files: int64(g.Files), Database: g.Database,
	}
}

func (s *databaseService) ListBackups(ctx context.Context, req *smolwcpb.ListBackupsRequest) (*smolwcpb.ListBackupsResponse, error) {
	target, err := s.readable(ctx, req.GetTarget())
	if err != nil {
		return nil, err
	}
	all, err := s.local().ListBackups(ctx, target)
	if err != nil {
		return nil, err
	}
	resp := &smolwcpb.ListBackupsResponse{}
	for _, g := range all {
		resp.Backups = append(resp.Backups, backupMessage(g))
	}
	return resp, nil
}

// VerifyBackups verifies the backups of a target, and stops when the client goes.
func (s *databaseService) VerifyBackups(req *smolwcpb.VerifyBackupsRequest, stream smolwcpb.DatabaseAdmin_VerifyBackupsServer) error {
	target, err := s.readable(stream.Context(), req.GetTarget())
	if err != nil {
		return err
	}
	ctx, report, stop := reporting(stream.Context(), func(p *smolwcpb.Progress) error {
		return stream.Send(&smolwcpb.VerifyBackupsResponse{Response: &smolwcpb.VerifyBackupsResponse_Progress{Progress: p}})
	})
	defer stop()
	o, err := travelling(req.GetTravel(), report)
	if err != nil {
		return err
	}
	res, err := s.local().VerifyBackups(ctx, target, o)
	stop()
	if err != nil && !errors.Is(err, archive.ErrDamaged) {
		return err
	}
	return errors.Join(stream.Send(&smolwcpb.VerifyBackupsResponse{Response: &smolwcpb.VerifyBackupsResponse_Report_{Report: reportMessage(res)}}), err)
}

// mostDamage is how much of the damage a report names.
const mostDamage = 1000

func reportMessage(r archive.VerifyReport) *smolwcpb.VerifyBackupsResponse_Report {
	m := &smolwcpb.VerifyBackupsResponse_Report{
		Backups: int64(r.Generations), Objects: int64(r.Objects), Bytes: r.Bytes, UnusedObjects: int64(r.Unused), Elapsed: durationpb.New(r.Elapsed),
	}
	m.Damage = damageMessages(r.Damage)
	return m
}

func damageMessages(all []*archive.DamageError) (ms []*smolwcpb.VerifyBackupsResponse_Damage) {
	for _, d := range all[:min(len(all), mostDamage)] {
		ms = append(ms, &smolwcpb.VerifyBackupsResponse_Damage{Backup: int64(d.Generation), File: d.File, Object: d.Object, Problem: d.Problem})
	}
	return ms
}

func (s *databaseService) Checkpoint(ctx context.Context, req *smolwcpb.CheckpointRequest) (*smolwcpb.CheckpointResponse, error) {
	if !filepath.IsAbs(req.GetDir()) {
		return nil, status.Errorf(codes.InvalidArgument, "%q is not an absolute path; name a directory on the server's machine", req.GetDir())
	}
	if err := s.allow(req.GetDir()); err != nil {
		return nil, err
	}
	return &smolwcpb.CheckpointResponse{}, s.local().Checkpoint(ctx, req.GetDir())
}

// named is the client's target, if clients may use it.
func (s *databaseService) named(ctx context.Context, named string) (string, error) {
	target, err := s.local().Target(ctx, named)
	if err != nil {
		return "", err
	}
	return target, s.allow(target)
}

func (s *databaseService) allow(target string) error {
	err := s.BackupTo.Allow(target)
	switch {
	case errors.Is(err, archive.ErrDenied):
		return status.Errorf(codes.PermissionDenied, "clients of this server may not use %s for backups; its operator allows it with: smolwc serve --backup-to %s", target, target)
	case err != nil:
		return status.Errorf(codes.InvalidArgument, "%v; the directory is on the server's machine", errors.Unwrap(err))
	}
	return nil
}

func travelling(t *smolwcpb.Travel, report func(archive.Progress)) (archive.Options, error) {
	if t.GetParallel() < 0 || t.GetRate() < 0 {
		return archive.Options{}, status.Error(codes.InvalidArgument, "parallel and rate must not be negative")
	}
	return archive.Options{Parallel: int(min(t.GetParallel(), mostParallel)), Rate: t.GetRate(), Report: report}, nil
}

// mostParallel bounds how many files a client may have in transfer at once: each
// takes memory and a connection.
const mostParallel = 64

// reportEvery is how often a client receives progress.
const reportEvery = 200 * time.Millisecond

// reporting sends the last progress given to report, now and then and when stop
// is called; after that the stream is free for the result. The context ends when
// a message cannot be sent.
func reporting(ctx context.Context, send func(*smolwcpb.Progress) error) (_ context.Context, report func(archive.Progress), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var last atomic.Pointer[archive.Progress]
	sendLast := func() {
		if p := last.Swap(nil); p != nil && send(&smolwcpb.Progress{DoneBytes: p.Done, TotalBytes: p.Total}) != nil {
			cancel()
		}
	}
	stopSending := beside(ctx, func(ctx context.Context) {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		defer sendLast()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				sendLast()
			}
		}
	})
	return ctx, func(p archive.Progress) { last.Store(&p) }, func() { stopSending(); cancel() }
}

// beside runs f in the background until the returned function is called, which
// waits for f's end.
func beside(ctx context.Context, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
