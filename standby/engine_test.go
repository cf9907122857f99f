package standby_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// A pair has one engine: a standby that is to be on another one is refused before anything is
// copied, and so is a standby that is there.
func TestAPairHasOneEngine(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	engine, other := query.EnginePebble, query.EngineRocksDB
	if query.DefaultEngine() == query.EngineRocksDB {
		engine, other = other, engine
	}
	dir := filepath.Join(t.TempDir(), "standby")
	refused := func(want string) {
		t.Helper()
		s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, Database: query.Options{Engine: other}})
		if err == nil {
			must(t, s.Close())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	refused("the database of this server is on " + string(engine) + ", and the standby can be on " + string(other) + " only: all servers of a database have one engine")
	if there, _ := filepath.Glob(dir + "*"); len(there) > 0 {
		t.Errorf("there is %v", there)
	}
	s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, Database: query.Options{Engine: engine}})
	must(t, err)
	awaitEqual(t, p.db, s)
	must(t, s.Close())
	refused("the database is on " + string(engine) + ", and engine " + string(other) + " was asked for")
}
