//go:build cgo

package rocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/scan"
	"github.com/smolwc/smolwc/cf/rocks/internal/verify"
)

// blobFiles are those that a family uses.
func (s *Store) blobFiles(f *scan.Family) []verify.BlobFile {
	return verify.Blobs(s.db, f.Handle)
}

// holdFiles has a store that is opened for reading keep its blob files, whatever
// the writer does with them. One that is gone already is not its fault: either the
// view is out of date, and its opening does not count, or the file is lost, which
// reads of it will say.
func (s *Store) holdFiles() error {
	for _, f := range *s.families.Load() {
		for _, b := range s.blobFiles(&f.Family) {
			if err := s.engine.holding.Hold(filepath.Join(s.dir, b.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkBlobFiles checks the blob files of all families.
func (s *Store) checkBlobFiles(ctx context.Context, fn func(cf.CheckedFile) error) error {
	families := *s.families.Load()
	for _, name := range s.Families() {
		f, ok := families[name]
		if !ok {
			continue // it was created just now
		}
		for _, b := range s.blobFiles(&f.Family) {
			if err := cmp.Or(ctx.Err(), s.gate.Ending()); err != nil {
				return err
			}
			file := cf.CheckedFile{Name: b.Name, Family: name, Bytes: b.Bytes}
			file.Err = verify.Blob(ctx, filepath.Join(s.dir, b.Name), f.id, b.Bytes)
			switch {
			case file.Err != nil && ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(file.Err, fs.ErrNotExist) && (s.options.ReadOnly || !slices.Contains(s.blobFiles(&f.Family), b)):
				continue // it is not used any more
			}
			if err := fn(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// most of what is read to find out which file is damaged: some seconds.
const locateBytes = 1 << 30

// inFamily gives an error of the engine the family that was read, and, where it
// does not name a file, the blob file that is damaged.
func (s *Store) inFamily(f *scan.Family, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("family %s: %w", f.Name, err)
	if !errors.Is(err, cf.ErrCorrupt) || strings.Contains(err.Error(), s.dir) || s.options.InMemory {
		return err
	}
	left := int64(locateBytes)
	for _, b := range s.blobFiles(f) {
		if left -= b.Bytes; left < 0 {
			return fmt.Errorf("%w; a check names the file", err)
		}
		if fault := verify.Blob(context.Background(), filepath.Join(s.dir, b.Name), f.Handle.ID(), b.Bytes); errors.Is(fault, cf.ErrCorrupt) {
			return fmt.Errorf("%w: %w", err, fault)
		}
	}
	return err
}
