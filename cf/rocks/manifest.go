//go:build cgo

package rocks

import (
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// changeManifest makes a change that the engine writes to its manifest. Where that
// fails, the engine recovers by another manifest, and expects that no file has been
// removed since: of its own changes it sees to that, of those that it is asked for it
// does not, and ends the process.
func (s *Store) changeManifest(change func() error) error {
	if err := s.db.DisableFileDeletions(); err != nil {
		return native.Wrap(err)
	}
	err := native.Wrap(change())
	s.held.Add(1)
	s.releaseFiles()
	return err
}

// releaseFiles lets the engine remove files again when its manifest is not in doubt.
func (s *Store) releaseFiles() {
	for n := s.held.Load(); n > 0 && !s.engine.logs.InDoubt(); n = s.held.Load() {
		if s.held.CompareAndSwap(n, n-1) {
			files.AllowRemovals(s.db)
		}
	}
}
