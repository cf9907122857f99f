package query

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/cf/rocks"
)

// markerFile stands in a database's directory and says what it is, so that a
// directory of another program, or of a newer format, is refused before the
// engine opens it, which would write to it.
const markerFile = "SMOLWC"

const markerFormat = "smolwc database, format %d\n"

// checkMarker refuses a directory that holds a database of another kind. It
// reports whether the marker has to be written.
func checkMarker(dir string, engine rocks.Options) (missing bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err != nil {
		return true, nil // no database yet, or one that the engine will report on
	}
	text, err := os.ReadFile(filepath.Join(dir, markerFile))
	if errors.Is(err, os.ErrNotExist) {
		if engine.ReadOnly {
			return true, nil // its catalog says what it is
		}
		return true, probe(dir, engine)
	}
	if err != nil {
		return false, faultf(Unavailable, "%w", err)
	}
	var version int
	if _, err := fmt.Sscanf(string(text), markerFormat, &version); err != nil || version < 1 {
		return false, faultf(Corruption, "%s says %q, not a format", filepath.Join(dir, markerFile), text)
	}
	return false, checkFormat(version)
}

// probe reads the catalog of a database without a marker, without writing: it
// may have been made by the engine's own tools from one of smolwc, or be new.
func probe(dir string, engine rocks.Options) error {
	engine.ReadOnly = true
	store, err := rocks.OpenFollower(dir, engine)
	if errors.Is(err, rocks.ErrCreating) {
		return nil
	}
	if err != nil {
		return describeOpen(dir, err)
	}
	defer store.Close()
	db := &DB{store: store, readOnly: true}
	return db.loadCatalog(context.Background())
}

// writeMarker writes the marker whole or not at all.
func writeMarker(dir string) error {
	path := filepath.Join(dir, markerFile)
	if err := os.WriteFile(path+".tmp", fmt.Appendf(nil, markerFormat, formatVersion), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
