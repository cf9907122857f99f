package pebble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// wrap gives an error of Pebble a kind of cf.
func wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrClosed):
		return cf.ErrClosed
	case errors.Is(err, engine.ErrReadOnly):
		return cf.ErrReadOnly
	case errors.Is(err, cf.ErrCorrupt):
		return err
	case engine.IsCorruptionError(err):
		return corrupt(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, os.ErrExist), errors.Is(err, cf.ErrBusy), errors.Is(err, cf.ErrOpenHere), errors.Is(err, cf.ErrUnavailable):
		return err
	}
	return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
}

// firstLine leaves out the kinds that Pebble adds to an error.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// corrupt is the error of Pebble for damage, on one line and with the file's name.
func corrupt(err error) error {
	text := strings.Replace(firstLine(err), "file 000000: ", "", 1) // a check opens files without their numbers
	if info := engine.ExtractDataCorruptionInfo(err); info != nil {
		text = filepath.Base(info.Path) + ": " + text
	} else if m := blobNumber.FindStringSubmatch(text); m != nil {
		text = m[1] + ".blob: " + text
	}
	return fmt.Errorf("%w: %s", cf.ErrCorrupt, text)
}

// blobNumber finds the file in an error for a damaged block of a blob file.
var blobNumber = regexp.MustCompile(`\bfile (\d{6,}):`)

func notExist(err error) bool { return errors.Is(err, os.ErrNotExist) }

func lostFile(dir, name string) error {
	return fmt.Errorf("%w: the database in %s has lost its file %s; nothing was changed: put it back, or restore a backup", cf.ErrCorrupt, dir, name)
}

func diverged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", cf.ErrDiverged, fmt.Sprintf(format, args...))
}
