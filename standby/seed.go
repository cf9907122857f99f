package standby

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/smolwcpb"
)

var errNoStandby = errors.New("the directory has a database that is no standby; name another directory, or an empty one")

// isRestored reports whether a directory may have a restored backup: it has a database that
// has kept no log since.
func isRestored(dir string) bool {
	return hasDatabase(dir) && exists(filepath.Join(dir, markerFile)) && !exists(filepath.Join(dir, "archive")) &&
		!exists(filepath.Join(dir, query.PromotedFile)) && !exists(filepath.Join(dir, query.FencedFile))
}

// copyFromBackup begins with a restored backup of the primary's database.
func (s *Standby) copyFromBackup(ctx context.Context) error {
	db, err := query.Open(s.dir.dir, query.Options{ReadOnly: true, Memory: s.o.Database.Memory, Logger: s.logger})
	if err != nil {
		return err
	}
	uuid := db.UUID().String()
	if err := db.Close(); err != nil {
		return err
	}
	there, err := s.link.ListReplicas(s.link.context(ctx), new(smolwcpb.ListReplicasRequest))
	if err != nil {
		return notYet{fmt.Errorf("the directory has a database, and %s, which is to lead it, does not answer: %w", s.o.Primary, s.link.explain(err))}
	}
	if there.GetDatabase() != uuid {
		return errNoStandby
	}
	s.logger.Info("the directory has a backup of the primary; its files are used for the copy, and kept", "dir", s.dir.dir)
	if err := writeFile(s.dir.dir, query.StandbyFile, role{Primary: s.o.Primary, WasPrimary: true, Seed: true}); err != nil {
		return err
	}
	return s.recopy(ctx)
}

// recopyIfUnusable copies the primary if the standby is a backup still, or if its rows are wrong.
func (s *Standby) recopyIfUnusable(ctx context.Context) error {
	var r role
	if _, err := readFile(s.dir.dir, query.StandbyFile, &r); err != nil || !r.Seed && r.Differs == "" {
		return err
	}
	if r.Differs != "" {
		s.logger.Error("the standby is rebuilt before it serves", "reason", r.Differs)
		if err := writeFile(s.dir.dir, divergedFile, tail{Reason: r.Differs}); err != nil {
			return err
		}
	}
	return s.recopy(ctx)
}
