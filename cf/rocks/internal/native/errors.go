//go:build cgo && linux && !norocksdb

package native

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// kinds maps texts in RocksDB's messages to the kinds of cf. The first match wins.
var kinds = []struct {
	text string
	kind error
}{
	{"While lock file", cf.ErrBusy},
	{"lock hold by current process", cf.ErrOpenHere},
	{"Corruption:", cf.ErrCorrupt},
	{"Column family dropped", cf.ErrNotExist},
	{"Shutdown in progress", cf.ErrClosed},
	{"No space left on device", cf.ErrUnavailable},
	{"Permission denied", cf.ErrUnavailable},
	{"Read-only file system", cf.ErrUnavailable},
	{"Too many open files", cf.ErrUnavailable},
	{"IO error:", cf.ErrUnavailable},
}

// levelName matches LevelDB's names of table files. RocksDB tries such a name last, so
// its error for a missing table file shows this name.
var levelName = regexp.MustCompile(`\b(\d{6,})\.ldb\b`)

// Wrap gives an error of RocksDB its kind.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	text := levelName.ReplaceAllString(err.Error(), "$1.sst")
	for _, k := range kinds {
		if strings.Contains(text, k.text) {
			return fmt.Errorf("%w: %s", k.kind, text)
		}
	}
	return err
}
