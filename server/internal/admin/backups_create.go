package admin

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// newBackup is the name of a new backup, in a cluster that is created if need be;
// s.mu is held.
func (s *Admin) newBackup(ctx context.Context, parent, id string) (wire.Instance, string, error) {
	in, cluster, err := wire.ParseChild(parent, "clusters", "a cluster")
	if err != nil {
		return in, "", err
	}
	if err := in.Check(); err != nil {
		return in, "", err
	}
	if err := wire.CheckID("backup", id); err != nil {
		return in, "", err
	}
	if cluster == "-" {
		return in, "", wire.Invalid("%q is all clusters; a backup is in one", parent)
	}
	if err := wire.CheckID("cluster", cluster); err != nil {
		return in, "", err
	}
	if s.backups.dir == "" {
		return in, "", status.Error(codes.FailedPrecondition, "the database is in memory, and backups are files beside one that has a directory")
	}
	if err := s.tidyBackups(ctx); err != nil {
		return in, "", err
	}
	name := parent + "/backups/" + id
	if s.backups.items[name] != nil {
		return in, "", status.Errorf(codes.AlreadyExists, "backup %q already exists", name)
	}
	if err := s.ensureInstance(ctx, in); err != nil {
		return in, "", err
	}
	if s.clusters.items[parent] == nil {
		return in, name, s.clusters.put(ctx, parent, readyCluster(parent, &adminpb.Cluster{Location: "projects/" + in.Project + "/locations/local"}))
	}
	return in, name, nil
}

// How long backups live at least and at most, from their creation, and copies at
// most; and how long one stays hot at least.
const (
	minBackupLife = 6 * time.Hour
	maxBackupLife = 90 * 24 * time.Hour
	maxCopyLife   = 30 * 24 * time.Hour
	minHotLife    = 24 * time.Hour
)

// checkExpiry checks the expiry of a backup against its creation. The clocks of
// client and server may differ by a little.
func checkExpiry(t *timestamppb.Timestamp, created time.Time, most time.Duration) error {
	const tolerance = time.Minute
	switch {
	case t == nil:
		return wire.Invalid("expire_time is required")
	case t.CheckValid() != nil:
		return wire.Invalid("expire_time: %v", t.CheckValid())
	}
	if life := t.AsTime().Sub(created); life < minBackupLife-tolerance || life > most+tolerance {
		return wire.Invalid("expire_time is %v after the backup's creation; it must be at least %v and at most %v", life.Round(time.Second), minBackupLife, most)
	}
	return nil
}

func checkHot(m *adminpb.Backup, created time.Time) error {
	t := m.GetHotToStandardTime()
	switch {
	case m.GetBackupType() < 0 || m.GetBackupType() > adminpb.Backup_HOT:
		return wire.Invalid("unknown backup type %v", m.GetBackupType())
	case t == nil:
		return nil
	case m.GetBackupType() != adminpb.Backup_HOT:
		return wire.Invalid("hot_to_standard_time is for hot backups")
	case t.CheckValid() != nil:
		return wire.Invalid("hot_to_standard_time: %v", t.CheckValid())
	case t.AsTime().Sub(created) < minHotLife-time.Minute:
		return wire.Invalid("hot_to_standard_time must be at least %v after the backup's creation", minHotLife)
	}
	return nil
}

// CreateBackup makes a backup of a table: a copy in constant time, whose files are
// links until the table changes.
func (s *Admin) CreateBackup(ctx context.Context, req *adminpb.CreateBackupRequest) (*operation, error) {
	given := req.GetBackup()
	if given == nil {
		return nil, wire.Invalid("the request has no backup")
	}
	t, err := s.Own.ParseTable(given.GetSourceTable())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in, name, err := s.newBackup(ctx, req.GetParent(), req.GetBackupId())
	if err != nil {
		return nil, err
	}
	if t.In != in {
		return nil, wire.Invalid("table %q is not of the instance of cluster %q", t, req.GetParent())
	}
	began := s.backups.now()
	if err := cmp.Or(checkExpiry(given.GetExpireTime(), began, maxBackupLife), checkHot(given, began)); err != nil {
		return nil, err
	}
	if _, ok := s.DB.LookupTable(t.Stored); !ok {
		return nil, t.NotFound()
	}
	note, err := s.saveTable(ctx, t, began, given)
	if err != nil {
		return nil, err
	}
	note.Backup.Name = name
	if err := s.backups.put(ctx, name, note); err != nil {
		return nil, err
	}
	return s.done(in, note.Backup, &adminpb.CreateBackupMetadata{
		Name: name, SourceTable: t.String(), StartTime: note.Backup.StartTime, EndTime: note.Backup.EndTime,
	})
}

// newDir is an unused name for a backup's directory.
func (b *backups) newDir(at time.Time) string {
	for n := cells.TimestampOf(at); ; n++ {
		dir := fmt.Sprintf("%016x", int64(n))
		if _, err := os.Stat(filepath.Join(b.dir, dir)); os.IsNotExist(err) {
			return dir
		}
	}
}

func sizeOfFiles(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".sst" && ext != ".blob" {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// saveTable copies a table into a directory, and returns the note of the still unnamed
// backup; s.mu is held.
func (s *Admin) saveTable(ctx context.Context, t wire.Table, began time.Time, given *adminpb.Backup) (*adminpb.CreateBackupRequest, error) {
	note := &adminpb.CreateBackupRequest{BackupId: s.backups.newDir(began), Backup: &adminpb.Backup{
		SourceTable:       t.String(),
		ExpireTime:        given.GetExpireTime(),
		StartTime:         timestamppb.New(began),
		State:             adminpb.Backup_READY,
		EncryptionInfo:    &adminpb.EncryptionInfo{EncryptionType: adminpb.EncryptionInfo_GOOGLE_DEFAULT_ENCRYPTION},
		BackupType:        cmp.Or(given.GetBackupType(), adminpb.Backup_STANDARD),
		HotToStandardTime: given.GetHotToStandardTime(),
	}}
	if err := s.DB.CheckpointTable(ctx, t.Stored, s.backups.path(note)); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	note.Backup.EndTime = timestamppb.New(s.backups.now())
	var err error
	note.Backup.SizeBytes, err = sizeOfFiles(s.backups.path(note))
	return note, err
}

// CopyBackup makes a backup of the data of another one, at no cost.
func (s *Admin) CopyBackup(ctx context.Context, req *adminpb.CopyBackupRequest) (*operation, error) {
	if _, _, err := wire.ParseBackup(req.GetSourceBackup()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in, name, err := s.newBackup(ctx, req.GetParent(), req.GetBackupId())
	if err != nil {
		return nil, err
	}
	source, err := s.backups.find(req.GetSourceBackup())
	if err != nil {
		return nil, err
	}
	if source.GetBackup().GetSourceBackup() != "" {
		return nil, status.Errorf(codes.FailedPrecondition, "backup %q is a copy, and copies cannot be copied", req.GetSourceBackup())
	}
	began := timestamppb.New(s.backups.now())
	if err := checkExpiry(req.GetExpireTime(), began.AsTime(), maxCopyLife); err != nil {
		return nil, err
	}
	note := clone(source)
	m := note.GetBackup()
	m.Name, m.SourceBackup, m.ExpireTime = name, req.GetSourceBackup(), req.GetExpireTime()
	m.StartTime, m.EndTime = began, began
	m.BackupType, m.HotToStandardTime = adminpb.Backup_STANDARD, nil
	if err := s.backups.put(ctx, name, note); err != nil {
		return nil, err
	}
	return s.done(in, m, &adminpb.CopyBackupMetadata{
		Name:             name,
		SourceBackupInfo: backupInfo(source.GetBackup()),
		Progress:         &adminpb.OperationProgress{ProgressPercent: 100, StartTime: began, EndTime: began},
	})
}

func backupInfo(m *adminpb.Backup) *adminpb.BackupInfo {
	return &adminpb.BackupInfo{
		Backup: m.GetName(), StartTime: m.GetStartTime(), EndTime: m.GetEndTime(),
		SourceTable: m.GetSourceTable(), SourceBackup: m.GetSourceBackup(),
	}
}
