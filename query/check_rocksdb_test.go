//go:build cgo && linux && !norocksdb

package query_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
)

// A check finds a key that is not that of a cell. Only RocksDB's store lets tests write one.
func TestCheckFindsAMalformedKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	must(t, mustOpen(t, dir, query.Options{Engine: query.EngineRocksDB, Schema: checkSchema}).Close())
	s, err := rocks.Open(dir, rocks.Options{})
	must(t, err)
	raw, err := s.Raw("a/any")
	must(t, err)
	must(t, errors.Join(raw.Put([]byte{1, 'r', 0, 5}, []byte{1}), s.Close()))
	wantProblem(t, dir, "a/any", "malformed")
}
