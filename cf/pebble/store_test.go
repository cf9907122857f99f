package pebble_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

func TestStore(t *testing.T) {
	for name, options := range map[string]func() pebble.Options{
		"on disk, synced later": func() pebble.Options { return pebble.Options{Async: true} },
		"in memory":             func() pebble.Options { return pebble.Options{InMemory: true} },
		"in files that crash":   func() pebble.Options { return pebble.Options{FS: vfs.NewCrashableMem()} },
	} {
		t.Run(name, func(t *testing.T) {
			if slow > 1 && name == "in files that crash" {
				t.Skip("the others have the same goroutines")
			}
			cftest.Run(t, func(t *testing.T) cftest.Harness {
				o, dir := options(), t.TempDir()
				o.Memory = 64 << 20
				open := func(cf.Store) cf.Store {
					s, err := pebble.Open(dir, o)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				h := cftest.Harness{Store: open(nil)}
				if !o.InMemory {
					h.Reopen = open
				}
				return h
			})
		})
	}
}
