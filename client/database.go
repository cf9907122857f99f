package client

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/internal/bar"
	"github.com/smolwc/smolwc/query"
)

// BackUp makes the server back up its database to a target, with the server's paths and
// access keys; "" is the target of the last backup. It works like
// [archive.Local.BackUp]. When the context ends, the server stops the backup.
func (c *Client) BackUp(ctx context.Context, target string, o archive.BackupOptions) (res archive.BackupResult, err error) {
	if err := c.ready(ctx); err != nil {
		return res, databaseError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.database.BackUp(ctx, &smolwcpb.BackUpRequest{Target: target, Keep: int32(min(o.Keep, math.MaxInt32)), Travel: travelMessage(o.Options)})
	if err != nil {
		return res, databaseError(err)
	}
	return res, followed(stream, o.Options, "backing up", func(m *smolwcpb.BackUpResponse) bool {
		r := m.GetResult()
		res = archive.BackupResult{
			Generation: generationOf(r.GetBackup()), SentBytes: r.GetSentBytes(), SentFiles: int(r.GetSentFiles()), Elapsed: r.GetElapsed().AsDuration(),
			Pruned: archive.PruneResult{Generations: int(r.GetPrunedBackups()), Objects: int(r.GetPrunedObjects()), Bytes: r.GetPrunedBytes()},
		}
		return r != nil
	})
}

func travelMessage(o archive.Options) *smolwcpb.Travel {
	return &smolwcpb.Travel{Parallel: int32(min(o.Parallel, math.MaxInt32)), Rate: o.Rate}
}

func generationOf(m *smolwcpb.Backup) archive.Generation {
	return archive.Generation{
		ID: int(m.GetId()), Time: m.GetTime().AsTime(), Size: m.GetSizeBytes(), NewBytes: m.GetNewBytes(), Files: int(m.GetFiles()),
		Database: m.GetDatabase(), Damaged: m.GetDamaged(),
	}
}

// A progressing is a message of a stream: it reports progress, or is the result.
type progressing[M any] interface {
	*M
	GetProgress() *smolwcpb.Progress
}

// followed shows an operation's progress to the end of its stream. take takes the
// result, and reports whether a message is the result.
func followed[M any, P progressing[M]](stream grpc.ServerStreamingClient[M], o archive.Options, title string, take func(*M) bool) error {
	var shown *bar.Bar
	defer func() { shown.Finish() }()
	for done := false; ; {
		m, err := stream.Recv()
		switch {
		case err == io.EOF && done:
			return nil
		case err == io.EOF:
			return errNoResult
		case err != nil:
			return databaseError(err)
		}
		if sent := P(m).GetProgress(); sent != nil {
			p := archive.Progress{Done: sent.GetDoneBytes(), Total: sent.GetTotalBytes()}
			if shown == nil {
				shown = bar.OfBytes(o.Progress, title, p.Total)
			}
			shown.Set(p.Done)
			if o.Report != nil {
				o.Report(p)
			}
			continue
		}
		done = take(m) || done
	}
}

// ListBackups lists the backups of a target of the server.
func (c *Client) ListBackups(ctx context.Context, target string) ([]archive.Generation, error) {
	if err := c.ready(ctx); err != nil {
		return nil, databaseError(err)
	}
	resp, err := c.database.ListBackups(ctx, &smolwcpb.ListBackupsRequest{Target: target})
	if err != nil {
		return nil, databaseError(err)
	}
	var all []archive.Generation
	for _, m := range resp.GetBackups() {
		all = append(all, generationOf(m))
	}
	return all, nil
}

// A TableBackup is a backup of one table, as Bigtable's API makes them.
type TableBackup struct {
	ID, Table   string
	Bytes       int64
	Made, Until time.Time // Until: when it expires; Made is zero while it is being made
}

// TableBackups lists the backups of tables of the client's instance that the client may read, the newest first.
func (c *Client) TableBackups(ctx context.Context) ([]TableBackup, error) {
	const op = "list backups of tables"
	if err := c.ready(ctx); err != nil {
		return nil, clientError(op, "", "", err)
	}
	req := &adminpb.ListBackupsRequest{Parent: c.own.String() + "/clusters/-"}
	var all []TableBackup
	for {
		resp, err := c.admin.ListBackups(ctx, req)
		if err != nil {
			return nil, clientError(op, "", "", err)
		}
		for _, m := range resp.GetBackups() {
			b := TableBackup{ID: lastOf(m.GetName()), Table: c.storedName(m.GetSourceTable()), Bytes: m.GetSizeBytes(), Until: m.GetExpireTime().AsTime()}
			if m.GetState() == adminpb.Backup_READY {
				b.Made = m.GetEndTime().AsTime()
			}
			all = append(all, b)
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return all, nil
		}
	}
}

// VerifyBackups makes the server verify the backups of a target.
func (c *Client) VerifyBackups(ctx context.Context, target string, o archive.Options) (res archive.VerifyReport, err error) {
	if err := c.ready(ctx); err != nil {
		return res, databaseError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.database.VerifyBackups(ctx, &smolwcpb.VerifyBackupsRequest{Target: target, Travel: travelMessage(o)})
	if err != nil {
		return res, databaseError(err)
	}
	return res, followed(stream, o, "verifying", func(m *smolwcpb.VerifyBackupsResponse) bool {
		r := m.GetReport()
		res = archive.VerifyReport{
			Generations: int(r.GetBackups()), Objects: int(r.GetObjects()), Bytes: r.GetBytes(), Unused: int(r.GetUnusedObjects()), Elapsed: r.GetElapsed().AsDuration(),
		}
		res.Damage = damageOf(r.GetDamage())
		return r != nil
	})
}

func damageOf(ms []*smolwcpb.VerifyBackupsResponse_Damage) (all []*archive.DamageError) {
	for _, d := range ms {
		all = append(all, &archive.DamageError{Generation: int(d.GetBackup()), File: d.GetFile(), Object: d.GetObject(), Problem: d.GetProblem()})
	}
	return all
}

// Checkpoint makes the server copy its database to a directory of its machine.
func (c *Client) Checkpoint(ctx context.Context, dir string) error {
	if err := c.ready(ctx); err != nil {
		return databaseError(err)
	}
	_, err := c.database.Checkpoint(ctx, &smolwcpb.CheckpointRequest{Dir: dir})
	return databaseError(err)
}

// databaseError turns an error of a call about the database into an error of
// package query; nil stays nil.
func databaseError(err error) error {
	if status.Code(err) == codes.Unimplemented {
		err = status.Error(codes.FailedPrecondition, "it does not back its database up for clients: it is not smolwc serve, or an older one")
	}
	return clientError("the server", "", "", err)
}

var errNoResult = &query.Error{Op: "the server", Kind: query.KindUnknownOutcome, Err: errors.New("it ended the call without a result")}
