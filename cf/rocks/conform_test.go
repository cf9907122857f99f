//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"os"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

func TestStoreInMemoryConforms(t *testing.T) {
	cftest.Run(t, func(t *testing.T) cftest.Harness {
		return cftest.Harness{Store: open(t, "", rocks.Options{InMemory: true})}
	})
}

func TestStoreOnDiskConforms(t *testing.T) {
	cftest.Run(t, func(t *testing.T) cftest.Harness {
		dir := memoryDir(t)
		return cftest.Harness{
			Store:  open(t, dir, small),
			Reopen: func(cf.Store) cf.Store { return open(t, dir, small) },
		}
	})
}

// small makes files for which the engine preallocates little space.
var small = rocks.Options{Async: true, Memory: 8 << 20}

// memoryDir is a directory in memory, if the system has one: the suite syncs often.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "smolwc")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func open(t testing.TB, dir string, o rocks.Options) *rocks.Store {
	t.Helper()
	s, err := rocks.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
