package archive

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// A backup is of one engine. Where that is not linked, it is not restored, and nothing is
// written.
func TestABackupIsRestoredOnItsEngine(t *testing.T) {
	for _, engine := range []query.Engine{query.EnginePebble, query.EngineRocksDB} {
		if engine == query.EngineRocksDB && !query.HasRocksDB {
			continue
		}
		dir := t.TempDir()
		db, err := query.Open(filepath.Join(dir, "db"), query.Options{Engine: engine})
		if err != nil {
			t.Fatal(err)
		}
		a := archiveIn(filepath.Join(dir, "backups"))
		_, err = a.Backup(t.Context(), db, BackupOptions{})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		m, err := a.manifest(t.Context(), 1)
		if err != nil || m.engine() != engine {
			t.Errorf("a backup of %s is of %s: %v", engine, m.engine(), err)
		}
		to := filepath.Join(dir, "new", "db")
		if _, err := a.Restore(t.Context(), Latest, to, RestoreOptions{}); err != nil {
			t.Error(err)
		}
		if got, err := query.EngineOf(to); err != nil || got != engine {
			t.Errorf("a backup of %s is restored on %s: %v", engine, got, err)
		}
		if query.HasRocksDB {
			continue
		}
		for i := range m.Files {
			if m.Files[i].Name == currentFile {
				m.Files[i].Sum = sumOfBytes([]byte("MANIFEST-000005\n"))
			}
		}
		text, err := m.encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(a.target, filepath.FromSlash(manifestKey(1))), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		to = filepath.Join(dir, "other", "db")
		_, err = a.Restore(t.Context(), Latest, to, RestoreOptions{})
		if _, missing := os.Stat(filepath.Dir(to)); !errors.Is(err, query.ErrNoEngine) || !errors.Is(missing, os.ErrNotExist) {
			t.Errorf("a backup of RocksDB: %v; the folder above the database: %v", err, missing)
		}
	}
}
