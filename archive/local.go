package archive

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/query"
)

// A Local backs up a database that is open in this process. An empty target is the target
// of the last backup; without an earlier backup that is an error of kind
// FailedPrecondition. It is safe for concurrent use.
type Local struct{ DB *query.DB }

// Target returns place, or, when place is empty, the target of the last backup.
func (l Local) Target(ctx context.Context, place string) (string, error) {
	if place != "" {
		return place, nil
	}
	place, err := l.DB.Plumbing().BackupTarget(ctx)
	if err == nil && place == "" {
		err = &query.Error{Op: "look for backups", Kind: query.KindFailedPrecondition, Err: errNeverBackedUp}
	}
	return place, err
}

func (l Local) open(ctx context.Context, place string) (*Archive, error) {
	target, err := l.Target(ctx, place)
	if err != nil {
		return nil, err
	}
	return Open(ctx, target)
}

// BackUp is [Archive.Backup]; it also records the target, except in a standby, which writes nothing.
func (l Local) BackUp(ctx context.Context, target string, o BackupOptions) (BackupResult, error) {
	a, err := l.open(ctx, target)
	if err != nil {
		return BackupResult{}, err
	}
	res, err := a.Backup(ctx, l.DB, o)
	if res.ID == 0 {
		return res, err
	}
	if noted := l.DB.Plumbing().SetBackupTarget(ctx, a.Target()); err == nil && !errors.Is(noted, query.ErrReadOnly) {
		err = noted
	}
	return res, err
}

// ListBackups is [Archive.List].
func (l Local) ListBackups(ctx context.Context, target string) ([]Generation, error) {
	a, err := l.open(ctx, target)
	if err != nil {
		return nil, err
	}
	return a.List(ctx)
}

// VerifyBackups is [Archive.Verify].
func (l Local) VerifyBackups(ctx context.Context, target string, o Options) (VerifyReport, error) {
	a, err := l.open(ctx, target)
	if err != nil {
		return VerifyReport{}, err
	}
	return a.Verify(ctx, o)
}

// Checkpoint is [query.DB.Checkpoint].
func (l Local) Checkpoint(ctx context.Context, dir string) error { return l.DB.Checkpoint(ctx, dir) }
