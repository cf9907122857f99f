//go:build cgo

package rocks

import (
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// changeManifest makes a change that the engine writes to its manifest. If the write
// fails, the engine recovers with another manifest, and expects that no file was
// removed meanwhile. It ensures this for its own changes, but not for changes on
// request: then it ends the process. So changeManifest keeps files from being removed.
func (s *Store) changeManifest(change func() error) error {
	if err := s.db.DisableFileDeletions(); err != nil {
		return native.Wrap(err)
	}
	err := s.engine.logs.OnManifest(change)
	s.held.Add(1)
	s.releaseFiles()
	return err
}

// releaseFiles lets the engine remove files again unless its manifest is in doubt.
func (s *Store) releaseFiles() {
	for n := s.held.Load(); n > 0 && !s.engine.logs.InDoubt(); n = s.held.Load() {
		if s.held.CompareAndSwap(n, n-1) {
			files.AllowRemovals(s.db)
		}
	}
}
