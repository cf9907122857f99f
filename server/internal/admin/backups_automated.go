package admin

import (
	"context"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// How often the server looks for automated backups that are due and for backups that have
// expired, and when it tries a failed backup again.
const (
	duePeriod    = time.Second
	expiryPeriod = time.Minute
	backupRetry  = 10 * time.Minute
)

// KeepBackups makes the automated backups of tables, and frees the space of backups that
// expire, until stop is called; stop waits for its end.
func (s *Admin) KeepBackups(ctx context.Context) (stop func()) { return beside(ctx, s.keepBackups) }

func (s *Admin) keepBackups(ctx context.Context) {
	t := time.NewTicker(duePeriod)
	defer t.Stop()
	expired := time.Now()
	retry := map[string]time.Time{} // when a failed backup of a table is tried again
	for ctx.Err() == nil {
		s.backUpDue(ctx, retry)
		if time.Since(expired) >= expiryPeriod {
			expired = time.Now()
			s.mu.Lock()
			if err := s.tidyBackups(ctx); err != nil && ctx.Err() == nil {
				s.logger.Error("backups that have expired cannot be removed", "err", err)
			}
			s.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// backUpDue makes the automated backups that are due. Without a directory for backups
// nothing is due.
func (s *Admin) backUpDue(ctx context.Context, retry map[string]time.Time) {
	if s.backups.dir == "" {
		return
	}
	notes := s.Notes()
	for _, stored := range slices.Sorted(maps.Keys(notes)) {
		now := s.backups.now()
		if ctx.Err() != nil || notes[stored].Policy() == nil || !due(notes[stored], now) || now.Before(retry[stored]) {
			continue
		}
		name, err := s.backUpTable(ctx, stored)
		delete(retry, stored)
		switch {
		case err == nil && name != "":
			s.backups.automated.made.Add(1)
			s.logger.Info("backed a table up by its policy", "table", stored, "backup", name)
		case err != nil && ctx.Err() == nil:
			s.backups.automated.failed.Add(1)
			retry[stored] = now.Add(backupRetry)
			s.logger.Error("a table was not backed up by its policy", "table", stored, "err", err, "tried_again_in", backupRetry)
		}
	}
}

// due reports whether a table's automated backup is due. The time of the last backup is in
// the future if the clock was set back.
func due(n *catalog.Note, now time.Time) bool {
	since := now.Sub(time.UnixMicro(n.BackedUp))
	return since >= catalog.BackupEvery || since <= -catalog.BackupEvery
}

// backUpTable makes an automated backup of a table, in each cluster of its instance that
// the policy allows. The backups share one directory. The name is "" if no backup was due.
func (s *Admin) backUpTable(ctx context.Context, stored string) (name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note, t := s.Note(stored).Clone(), s.Own.StoredTable(stored)
	policy, began := note.Policy(), s.backups.now()
	if _, there := s.DB.LookupTable(stored); !there || policy == nil || !due(note, began) {
		return "", nil // it changed just now
	}
	clusters, err := s.backupClusters(t.In, policy)
	if err != nil {
		return "", err
	}
	if err := s.tidyBackups(ctx); err != nil {
		return "", err
	}
	expires := began.Add(catalog.BackupKeep(policy))
	given := &adminpb.Backup{ExpireTime: timestamppb.New(expires)}
	if hot := policy.GetKeepHotDuration(); hot != nil {
		given.BackupType, given.HotToStandardTime = adminpb.Backup_HOT, timestamppb.New(began.Add(hot.AsDuration()))
	}
	made, err := s.saveTable(ctx, t, began, given)
	if err != nil {
		return "", err
	}
	for _, cluster := range clusters {
		made = clone(made)
		name = s.backups.automatedName(cluster, t.ID, began)
		made.Backup.Name = name
		if err := s.backups.put(ctx, name, made); err != nil {
			return "", err
		}
	}
	note.BackedUp = int64(cells.TimestampOf(began))
	return name, s.SetNote(ctx, stored, note)
}

// automatedName is the name of an automated backup: fleet-auto-20241123102030. The names
// of backups are short, so a long name of a table is cut off.
func (b *backups) automatedName(cluster, table string, at time.Time) string {
	const longest = 30
	for ; ; at = at.Add(time.Second) {
		name := cluster + "/backups/" + table[:min(len(table), longest)] + "-auto-" + at.UTC().Format("20060102150405")
		if b.items[name] == nil {
			return name
		}
	}
}

// backupClusters are the clusters of an instance that a policy allows; s.mu is held.
func (s *Admin) backupClusters(in wire.Instance, p *adminpb.Table_AutomatedBackupPolicy) ([]string, error) {
	var found []string
	used := map[string]bool{}
	for _, name := range s.clusters.under(in.String() + "/clusters") {
		at := s.clusters.items[name].GetLocation()
		if len(p.GetLocations()) == 0 || slices.Contains(p.GetLocations(), at) {
			found, used[at] = append(found, name), true
		}
	}
	for _, at := range p.GetLocations() {
		if !used[at] {
			return nil, wire.Invalid("automated_backup_policy: instance %q has no cluster in location %q", in, at)
		}
	}
	if len(found) == 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "instance %q has no cluster for backups", in)
	}
	return found, nil
}

// checkPolicy refuses a policy of automated backups that this database cannot carry out;
// s.mu is held. A database in memory takes any policy, so that programs can be tested.
func (s *Admin) checkPolicy(t wire.Table, n *catalog.Note) error {
	switch p := n.Policy(); {
	case p == nil:
		return nil
	case s.DB.Plumbing().Shared():
		return status.Error(codes.FailedPrecondition, "automated_backup_policy: this database is on a shared store, where tables have no files that a backup could keep; use the store's own tool for backups, which is br for TiKV")
	case s.backups.dir == "":
		s.logger.Warn("a table has a policy of automated backups, but the database is in memory and makes no backups", "table", t.Stored)
		return nil
	default:
		_, err := s.backupClusters(t.In, p)
		return err
	}
}

// AutomatedBackups counts the automated backups of tables since the start, and those that
// failed.
func (s *Admin) AutomatedBackups() (made, failed int64) {
	return s.backups.automated.made.Load(), s.backups.automated.failed.Load()
}
