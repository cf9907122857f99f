package admin

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// RestoreTable makes a table of a backup: its families, and all cells that it had
// at the backup's moment. The table is there as a whole or not at all.
func (s *Admin) RestoreTable(ctx context.Context, req *adminpb.RestoreTableRequest) (*operation, error) {
	in, err := wire.ParseInstance(req.GetParent())
	if err != nil {
		return nil, err
	}
	if err := wire.CheckTableID(req.GetTableId()); err != nil {
		return nil, err
	}
	if _, _, err := wire.ParseBackup(req.GetBackup()); err != nil {
		return nil, err
	}
	t := s.Own.Table(in, req.GetTableId())
	began := now()
	backup, err := s.holdBackup(ctx, req.GetBackup(), t)
	if err != nil {
		return nil, err
	}
	defer s.releaseBackup(ctx, backup)
	info := backupInfo(backup.GetBackup())
	if err := s.restore(ctx, s.backups.path(backup), t, info); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	m, err := s.tableMessage(t, adminpb.Table_SCHEMA_VIEW)
	if err != nil {
		return nil, err
	}
	return s.done(in, m, &adminpb.RestoreTableMetadata{
		Name:       t.String(),
		SourceType: adminpb.RestoreSourceType_BACKUP,
		SourceInfo: &adminpb.RestoreTableMetadata_BackupInfo{BackupInfo: info},
		Progress:   &adminpb.OperationProgress{ProgressPercent: 100, StartTime: began, EndTime: now()},
	})
}

// holdBackup finds a backup to restore as a new table, and keeps
// its directory from being removed until releaseBackup.
func (s *Admin) holdBackup(ctx context.Context, name string, t wire.Table) (*adminpb.CreateBackupRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note, err := s.backups.find(name)
	if err != nil {
		return nil, err
	}
	if _, ok := s.DB.LookupTable(t.Stored); ok {
		return nil, status.Errorf(codes.AlreadyExists, "table %q already exists", t)
	}
	if err := s.ensureInstance(ctx, t.In); err != nil {
		return nil, err
	}
	s.backups.uses[note.GetBackupId()]++
	return note, nil
}

func (s *Admin) releaseBackup(ctx context.Context, note *adminpb.CreateBackupRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.backups
	if b.uses[note.GetBackupId()]--; b.uses[note.GetBackupId()] == 0 {
		delete(b.uses, note.GetBackupId())
	}
	if err := s.tidyBackups(context.WithoutCancel(ctx)); err != nil {
		s.logger.Error("backups that nothing names cannot be removed", "err", err)
	}
}

// restoreMemory is the memory for reading a backup: each block is read once.
const restoreMemory = 16 << 20

// restore copies the one table of the database in a directory.
func (s *Admin) restore(ctx context.Context, dir string, t wire.Table, info *adminpb.BackupInfo) (err error) {
	from, err := query.OpenReadOnly(dir, query.Options{Memory: restoreMemory})
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	tables := from.Schema().Tables
	if len(tables) != 1 {
		return fmt.Errorf("the backup has %d tables instead of one", len(tables))
	}
	note, err := restoredNote(ctx, from, tables[0].Name, info)
	if err != nil {
		return err
	}
	b, err := note.Marshal()
	if err != nil {
		return err
	}
	if err := s.DB.CopyTable(ctx, t.Stored, from.Table(tables[0].Name), b); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Noted(t.Stored, note)
	return nil
}

// restoredNote is the note of a table restored from a backup: its source's note
// without authorized views, protection from deletion and change streams, which are not restored.
func restoredNote(ctx context.Context, from *query.DB, table string, info *adminpb.BackupInfo) (*catalog.Note, error) {
	stored, err := from.Plumbing().TableNotes(ctx)
	if err != nil {
		return nil, err
	}
	note, err := catalog.ReadNote(table, stored[table])
	if err != nil {
		return nil, err
	}
	note.Views, note.BackedUp = nil, 0
	note.Table.DeletionProtection = false
	note.Table.ChangeStreamConfig = nil
	note.Table.AutomatedBackupConfig = nil
	note.Table.RestoreInfo = &adminpb.RestoreInfo{
		SourceType: adminpb.RestoreSourceType_BACKUP,
		SourceInfo: &adminpb.RestoreInfo_BackupInfo{BackupInfo: info},
	}
	return note, nil
}
