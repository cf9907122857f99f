package admin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
)

// A backup is a database of one table in a directory of the server's database, which is
// not written to, and a note that names it: a CreateBackupRequest with the backup as
// clients see it, and as backup_id the name of the directory. A copy is another note of
// the same directory. The notes decide which backups exist; so a crash leaves at most a
// directory that no note names, which is removed when the server starts. docs/decisions
// gives the reasons.
type backups struct {
	registry[*adminpb.CreateBackupRequest]
	dir  string         // "" for a database in memory
	uses map[string]int // how many restores read a directory
	now  func() time.Time
	// automated counts the automated backups that were made or failed since the start.
	automated struct{ made, failed atomic.Int64 }
}

// backupsDir is the directory of backups, in the database's directory.
const backupsDir = "table-backups"

// ownBackup are the names that directories of backups have, finished or not.
var ownBackup = regexp.MustCompile(`^[0-9a-f]{16}(\.tmp.*)?$`)

// loadBackups reads the notes. It forgets a backup without its directory, which
// occurs in a database that was restored or copied.
func (s *Admin) loadBackups(ctx context.Context) error {
	b := &s.backups
	b.registry = registry[*adminpb.CreateBackupRequest]{db: s.DB, what: "backup"}
	b.uses, b.now = map[string]int{}, func() time.Time { return s.DB.Now().Time() }
	if err := b.load(ctx); err != nil {
		return err
	}
	if s.DB.Dir() != "" {
		b.dir = filepath.Join(s.DB.Dir(), backupsDir)
	}
	for name, note := range b.items {
		if _, err := os.Stat(b.path(note)); err == nil {
			continue
		}
		s.logger.Warn("a table's backup has no data and is forgotten; it does not travel with the database", "backup", name)
		if err := b.delete(ctx, name); err != nil {
			return err
		}
	}
	return s.tidyBackups(ctx)
}

func (b *backups) path(note *adminpb.CreateBackupRequest) string {
	return filepath.Join(b.dir, note.GetBackupId())
}

// tidyBackups forgets the backups that have expired, and removes the directories
// that no note names and no restore reads; s.mu is held.
func (s *Admin) tidyBackups(ctx context.Context) error {
	b := &s.backups
	named := map[string]bool{}
	for name, note := range b.items {
		if !note.GetBackup().GetExpireTime().AsTime().After(b.now()) {
			s.logger.Info("a table's backup has expired", "backup", name)
			if err := b.delete(ctx, name); err != nil {
				return err
			}
			continue
		}
		named[note.GetBackupId()] = true
	}
	if b.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("the directory of backups: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); !named[name] && b.uses[name] == 0 && ownBackup.MatchString(name) {
			if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
				return fmt.Errorf("removing a backup: %w", err)
			}
		}
	}
	return nil
}

// find returns the note of an unexpired backup; s.mu is held.
func (b *backups) find(name string) (*adminpb.CreateBackupRequest, error) {
	if _, _, err := wire.ParseBackup(name); err != nil {
		return nil, err
	}
	note, err := b.get(name)
	if err != nil {
		return nil, err
	}
	if !note.GetBackup().GetExpireTime().AsTime().After(b.now()) {
		return nil, b.notFound(name)
	}
	return note, nil
}

// checkNoBackups refuses to delete an instance or a cluster with backups, as Bigtable
// does; s.mu is held.
func (s *Admin) checkNoBackups(ctx context.Context, parent string) error {
	if err := s.tidyBackups(ctx); err != nil {
		return err
	}
	if left := s.backups.under(parent); len(left) > 0 {
		return status.Errorf(codes.FailedPrecondition, "%q has %d backups, as %q; delete them first", parent, len(left), left[0])
	}
	return nil
}

// BackupSource is the table of a backup, if the backup exists.
func (s *Admin) BackupSource(name string) (wire.Table, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note, err := s.backups.find(name)
	if err != nil {
		return wire.Table{}, false
	}
	t, err := s.Own.ParseTable(note.GetBackup().GetSourceTable())
	return t, err == nil
}

// message is a backup as clients see it now: a hot one becomes standard at a set
// time.
func (b *backups) message(note *adminpb.CreateBackupRequest) *adminpb.Backup {
	m := clone(note.GetBackup())
	if t := m.GetHotToStandardTime(); t != nil && !t.AsTime().After(b.now()) {
		m.BackupType, m.HotToStandardTime = adminpb.Backup_STANDARD, nil
	}
	return m
}

// GetBackup describes a backup.
func (s *Admin) GetBackup(_ context.Context, req *adminpb.GetBackupRequest) (*adminpb.Backup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note, err := s.backups.find(req.GetName())
	if err != nil {
		return nil, err
	}
	return s.backups.message(note), nil
}

// UpdateBackup changes when a backup expires, or is no longer hot.
func (s *Admin) UpdateBackup(ctx context.Context, req *adminpb.UpdateBackupRequest) (*adminpb.Backup, error) {
	from := req.GetBackup()
	if _, _, err := wire.ParseBackup(from.GetName()); err != nil {
		return nil, err
	}
	if len(req.GetUpdateMask().GetPaths()) == 0 {
		return nil, wire.Invalid("update_mask is required")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	note, err := s.backups.find(from.GetName())
	if err != nil {
		return nil, err
	}
	note = clone(note)
	m := note.GetBackup()
	created, most := m.GetStartTime().AsTime(), maxBackupLife
	if m.GetSourceBackup() != "" {
		most = maxCopyLife
	}
	for _, path := range req.GetUpdateMask().GetPaths() {
		switch path {
		case "expire_time":
			if err := checkExpiry(from.GetExpireTime(), created, most); err != nil {
				return nil, err
			}
			m.ExpireTime = from.GetExpireTime()
		case "hot_to_standard_time":
			m.HotToStandardTime = from.GetHotToStandardTime()
			if err := checkHot(m, created); err != nil {
				return nil, err
			}
		default:
			return nil, wire.Invalid("incorrect path in update_mask; %q cannot be updated", path)
		}
	}
	if err := s.backups.put(ctx, m.GetName(), note); err != nil {
		return nil, err
	}
	return s.backups.message(note), nil
}

// DeleteBackup deletes a backup. Its files stay while a copy, or a restore under way,
// needs them.
func (s *Admin) DeleteBackup(ctx context.Context, req *adminpb.DeleteBackupRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.backups.find(req.GetName()); err != nil {
		return nil, err
	}
	if err := s.backups.delete(ctx, req.GetName()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.tidyBackups(ctx)
}
