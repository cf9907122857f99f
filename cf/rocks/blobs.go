//go:build cgo && linux && !norocksdb

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

// blobFiles are the blob files of a family.
func (s *Store) blobFiles(f *scan.Family) []verify.BlobFile {
	return verify.Blobs(s.db, f.Handle)
}

// holdFiles makes a store that is opened for reading keep its blob files, even if the
// writer removes them. A file that does not exist is no error: either the view is out
// of date, and the open is repeated, or the file is lost, and reads of it will fail.
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
			continue // it was created meanwhile
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
				continue // it is no longer used
			}
			if err := fn(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// locateBytes bounds the bytes that are read to find the damaged file: reading them
// takes some seconds.
const locateBytes = 1 << 30

// inFamily adds the family to an error of the engine. If the error names no file, it
// also adds the damaged blob file.
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
