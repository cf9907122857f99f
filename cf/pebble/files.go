package pebble

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const archiveDir = "archive"

const loadsDir = "bulk"

// straysDir holds table files that the manifest does not name, if nothing says that
// the manifest is complete.
const straysDir = "strays"

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// isVital reports whether Pebble cannot live with an error of a file.
func isVital(name string) bool {
	base := filepath.Base(name)
	return isLog(name) || strings.HasPrefix(base, "MANIFEST-") || strings.HasPrefix(base, "marker.")
}

func logName(number uint64) string { return fmt.Sprintf("%06d.log", number) }

// endOf is the name of the note of a kept log's end.
func endOf(log string) string { return strings.TrimSuffix(log, ".log") + ".end" }

func readAll(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	return text, errors.Join(err, f.Close())
}

// replace writes a file whole or not at all, to the disk.
func replace(fs vfs.FS, path string, text []byte) error {
	f, err := fs.Create(path+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return fs.Rename(path+".tmp", path)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
