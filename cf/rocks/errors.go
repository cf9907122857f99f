package rocks

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// kinds maps what RocksDB's messages say to the kinds of cf, first match wins.
var kinds = []struct {
	text string
	kind error
}{
	{"While lock file", cf.ErrBusy},
	{"lock hold by current process", cf.ErrBusy},
	{"Corruption:", cf.ErrCorrupt},
	{"does not exist (create_if_missing is false)", cf.ErrNotExist},
	{"Column family dropped", cf.ErrNotExist},
	{"No space left on device", cf.ErrUnavailable},
	{"Permission denied", cf.ErrUnavailable},
	{"Read-only file system", cf.ErrUnavailable},
	{"Too many open files", cf.ErrUnavailable},
	{"Not implemented: Not supported operation in read only mode", cf.ErrReadOnly},
	{"IO error:", cf.ErrUnavailable},
}

// wrap gives an error of RocksDB its kind.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	// Of a table file that is not there it names the name that LevelDB gave such
	// files, which it tries last.
	text := strings.ReplaceAll(err.Error(), ".ldb", ".sst")
	for _, k := range kinds {
		if strings.Contains(text, k.text) {
			return fmt.Errorf("%w: %s", k.kind, text)
		}
	}
	return err
}
