package route_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/server/route"
	"github.com/smolwc/smolwc/shardmap"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map.json")
	must(t, os.WriteFile(file, []byte(mapOf("db1:1", "db2:1", "")), 0o600))
	p := nilcheck.Package{
		Funcs: []any{route.New, route.ParseReads},
		Usable: []any{
			func(t testing.TB) context.Context {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				return ctx
			},
			func(t testing.TB) route.Options {
				w, err := shardmap.Watch(context.Background(), file, shardmap.WatchOptions{Every: time.Hour})
				must(t, err)
				return route.Options{Map: w}
			},
		},
	}
	p.Run(t, ".")
}
