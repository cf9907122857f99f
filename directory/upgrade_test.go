package directory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
)

// The directories of databases of then open: query/testdata/upgrade/write has made them.
func TestDirectoriesOfThen(t *testing.T) {
	for format := 3; format <= query.FormatVersion; format++ {
		dir := filepath.Join(t.TempDir(), "db")
		if err := os.CopyFS(dir, os.DirFS(fmt.Sprintf("../query/testdata/upgrade/format%d", format))); err != nil {
			t.Fatal(err)
		}
		db, err := query.Open(dir, query.Options{GCInterval: -1})
		if errors.Is(err, query.ErrNoEngine) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx *query.Tx) error {
			d, err := directory.New(directory.Options{}).Open(t.Context(), tx, []string{"tenants", "acme"}, []byte("tenant"))
			if err == nil && string(d.Prefix()) != "acme/" {
				t.Errorf("format %d: the directory has the prefix %q", format, d.Prefix())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
