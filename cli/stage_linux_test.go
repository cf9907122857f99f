package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

// A stage has the servers a, b and c, each on a disk of its own. Their state can be kept, and
// brought back: then it is as if nothing had happened since.
type stage struct {
	t     *testing.T
	dir   string
	hosts map[string]*host
	rows  map[string]string // that a server has acknowledged, and that the one that leads must have
	tail  []string          // rows that only the old primary has
	// moment is one to which a standby with a delay can be promoted.
	moment time.Time
}

// A host is a machine with a server.
type host struct {
	name, addr, log string
	more            []string  // flags of the next start
	always, follows []string  // flags of each start, and of each one as a standby
	process         *exec.Cmd // nil while it is down
	serves, ended   chan struct{}
}

// A scene is a part of what happens.
type scene = func(w *stage)

func newStage(t *testing.T) *stage {
	dir := t.TempDir()
	if *stepLoss != "-" { // where no number of a file is given twice
		var err error
		if dir, err = os.MkdirTemp("/dev/shm", "smolwc"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	w := &stage{t: t, dir: dir, hosts: map[string]*host{}, rows: map[string]string{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		w.hosts[name] = &host{name: name, addr: testaddr.New(t), log: filepath.Join(w.dir, name+".log")}
		w.must(os.MkdirAll(w.disk(name), 0o755))
	}
	t.Cleanup(w.allStop)
	return w
}

func (w *stage) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *stage) disk(name string) string { return filepath.Join(w.dir, "disks", name) }
func (w *stage) db(name string) string   { return filepath.Join(w.disk(name), "db") }

// keep keeps the state; back brings it back, for a test of its own.
func (w *stage) keep() (back func(t *testing.T)) {
	w.allStop()
	kept := filepath.Join(w.dir, "kept")
	w.must(os.CopyFS(kept, os.DirFS(filepath.Join(w.dir, "disks"))))
	rows := maps.Clone(w.rows)
	return func(t *testing.T) {
		w.t, w.rows = t, maps.Clone(rows)
		w.must(os.RemoveAll(filepath.Join(w.dir, "disks")))
		w.must(os.CopyFS(filepath.Join(w.dir, "disks"), os.DirFS(kept)))
		t.Cleanup(func() {
			w.allStop()
			for name, h := range w.hosts {
				if said, _ := os.ReadFile(h.log); t.Failed() && len(said) > 0 {
					t.Logf("%s has %s, and has said:\n%s", name, w.names(name), said[max(0, len(said)-4000):])
				}
				_ = os.Remove(h.log) // it may not be there
			}
		})
	}
}

func (w *stage) allStop() {
	for name := range w.hosts {
		w.stop(name)
	}
}

// start starts a server, which a command may run. It does not wait.
func (w *stage) start(name, of string, under ...string) *host {
	w.t.Helper()
	w.stop(name)
	h := w.hosts[name]
	self, err := os.Executable()
	w.must(err)
	args := append(slices.Clone(under), self, "serve", "--db", w.db(name), "--addr", h.addr, "--http", "off", "--memory", "16MiB", "--semi-sync", "strict")
	if of != "" {
		args = append(args, "--standby-of", w.hosts[of].addr, "--standby-name", name)
		args = append(args, h.follows...)
	}
	args = slices.Concat(args, h.always, h.more)
	h.process = exec.Command(args[0], args[1:]...)
	h.process.Env = append(os.Environ(), beSmolwc+"=1")
	said, err := os.OpenFile(h.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	w.must(err)
	defer said.Close()
	h.process.Stderr = said
	h.serves, h.ended, err = launch(h.process)
	w.must(err)
	return h
}

// tries starts a server. If it ends instead, the error has what it says.
func (w *stage) tries(name, of string) error {
	w.t.Helper()
	was, _ := os.ReadFile(w.hosts[name].log) // the first start has none
	h := w.start(name, of)
	select {
	case <-h.serves:
		return nil
	case <-h.ended:
	case <-time.After(time.Minute):
		w.t.Fatalf("after five minutes %s does not serve", name)
	}
	text, err := os.ReadFile(h.log)
	w.must(err)
	h.process = nil
	return errors.New(string(text[len(was):]))
}

// stop kills a server, as kill -9 does.
func (w *stage) stop(name string) {
	h := w.hosts[name]
	if h.process == nil {
		return
	}
	sig := syscall.SIGKILL
	if filepath.Base(h.process.Path) == "killer" {
		sig = syscall.SIGUSR1 // which kills what it runs
	}
	_ = h.process.Process.Signal(sig) // it may have ended
	<-h.ended
	h.process = nil
}

// gone reports whether a server has ended.
func (w *stage) gone(name string) bool {
	h := w.hosts[name]
	if h.process == nil {
		return true
	}
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

func (w *stage) until(what string, holds func() bool) {
	w.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(3 * time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			w.t.Fatalf("after five minutes: %s", what)
		}
	}
}

// call calls a server.
func call[T any](w *stage, name string, fn func(context.Context, *client.Client) (T, error)) (T, error) {
	c, err := client.Dial(w.hosts[name].addr, client.Options{})
	w.must(err)
	defer func() { _ = c.Close() }() // no call is running
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return fn(ctx, c)
}

func (w *stage) is(name string) (client.Replicas, error) {
	return call(w, name, func(ctx context.Context, c *client.Client) (client.Replicas, error) { return c.Replicas(ctx) })
}

func valueOf(row string) string { return "value of " + row }

func mutationOf(row string) *write.Mutation {
	m := write.NewMutation()
	m.Set("f", "q", cells.String(valueOf(row)))
	return m
}

// put writes a row, which waits for a standby or not.
func (w *stage) put(name, row, semiSync string) error {
	_, err := call(w, name, func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.Table("t").Apply(client.SemiSync(ctx, semiSync), row, mutationOf(row))
	})
	if err == nil {
		w.rows[row] = valueOf(row)
	}
	return err
}

// rowsOf are the rows of a server.
func (w *stage) rowsOf(name string) (map[string]string, error) {
	return call(w, name, func(ctx context.Context, c *client.Client) (map[string]string, error) {
		all := map[string]string{}
		for r, err := range c.Table("t").ReadRows(client.Async(ctx)) {
			if err != nil {
				return nil, err
			}
			for cell := range r.Cells() {
				all[r.Key()] = strings.Trim(cell.Value.String(), `"`)
			}
		}
		return all, nil
	})
}

// has checks that a server has rows.
func (w *stage) has(name string, want map[string]string) {
	w.t.Helper()
	got, err := w.rowsOf(name)
	w.must(err)
	for row, value := range want {
		if got[row] != value {
			w.t.Fatalf("%s has %q in row %q, and not %q", name, got[row], row, value)
		}
	}
}

func (w *stage) promote(name string) error {
	_, err := call(w, name, func(ctx context.Context, c *client.Client) (client.Promotion, error) {
		return c.Promote(ctx, w.hosts[name].addr)
	})
	return err
}

// fences waits until a server knows that it was replaced.
func (w *stage) fences(name string) {
	w.t.Helper()
	w.until(name+" is not fenced", func() bool { is, err := w.is(name); return w.gone(name) || err == nil && is.FencedBy != "" })
}

// catchesUp waits until a standby has all of its primary, or one of both has ended.
func (w *stage) catchesUp(name, of string) {
	w.t.Helper()
	w.until(name+" does not follow", func() bool {
		if w.gone(name) || w.gone(of) {
			return true
		}
		here, err := w.is(name)
		there, other := w.is(of)
		return cmp.Or(err, other) == nil && here.Connected && here.Primary == w.hosts[of].addr && here.Epoch == there.Epoch && here.Position == there.Position
	})
}

func (w *stage) follows(name, of string) {
	w.t.Helper()
	w.catchesUp(name, of)
	if w.gone(name) || w.gone(of) {
		w.t.Fatalf("%s or %s has ended", name, of)
	}
}

// equals compares a standby with its primary.
func (w *stage) equals(name, of string) {
	w.t.Helper()
	w.until("no comparison", func() bool {
		v, err := w.verify(name, of)
		if err == nil && v.Difference != "" {
			w.t.Fatalf("%s differs: %s", name, v.Difference)
		}
		return err == nil
	})
}

func (w *stage) verify(name, of string) (*client.Verification, error) {
	return call(w, name, func(ctx context.Context, c *client.Client) (*client.Verification, error) {
		return c.Verify(ctx, w.hosts[of].addr, nil)
	})
}

// names are what is on a disk, and the files in the database that say what it is.
func (w *stage) names(name string) string {
	var all []string
	for _, dir := range []string{w.disk(name), w.db(name)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			switch {
			case dir == w.disk(name):
				all = append(all, e.Name())
			case e.Name() == "SYNCED.tmp": // a server that runs writes it now and then
			case strings.HasSuffix(e.Name(), ".tmp"), slices.Contains([]string{plumbing.StandbyFile, plumbing.FencedFile, plumbing.PromotedFile, "COPYING", "DIVERGED"}, e.Name()):
				all = append(all, "db/"+e.Name())
			}
		}
	}
	return strings.Join(all, " ")
}

// local opens the database of a server that is down.
func (w *stage) local(name string, fn func(context.Context, *query.DB) error) {
	w.t.Helper()
	p := standby.NewPrimary(standby.PrimaryOptions{})
	db, err := query.Open(w.db(name), query.Options{Memory: 16 << 20, Standbys: p.Hook()})
	w.must(err)
	w.must(errors.Join(fn(w.t.Context(), db), db.Close()))
}

// hasTail checks that a directory has the rows that only the old primary has, and no others.
func (w *stage) hasTail(dir string) {
	w.t.Helper()
	tail, err := standby.OpenTail(w.t.Context(), dir)
	w.must(err)
	defer tail.Close()
	var rows []string
	for {
		c, err := tail.Next(w.t.Context())
		w.must(err)
		if c == nil {
			break
		}
		if c.Table == "t" {
			rows = append(rows, c.Key)
		}
	}
	if !slices.Equal(rows, w.tail) {
		w.t.Fatalf("%s has the tail %q, and not %q", dir, rows, w.tail)
	}
}

// smolwc runs another command.
func (w *stage) smolwc(args ...string) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), beSmolwc+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

func has(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
