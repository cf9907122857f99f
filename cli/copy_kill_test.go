package cli

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

var copyKills = flag.Int("copy-kills", 3, "how often TestKilledCopies kills a copy")

// A copy that is killed at any moment is continued by the same command. In the end both
// databases are equal, although the source has changed between the runs.
func TestKilledCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for round := range 3 {
		changeSource(t, from, round, 4000)
	}
	began := time.Now()
	if err := copier(from, filepath.Join(dir, "whole")).Run(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	for round := range *copyKills {
		c := copier(from, to)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(took))
		_ = c.Process.Signal(syscall.SIGKILL) // it may have ended
		_ = c.Wait()
		changeSource(t, from, round, 50)
	}
	c := copier(from, to)
	c.Args = append(c.Args, "--format", "json")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	same := copier(from, to)
	same.Args = append(same.Args[:len(same.Args)-1], "--verify")
	if out, err := same.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// The same of a copy from a server, which has its source's cells in the end, each sum once.
func TestKilledSlices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for round := range 3 {
		changeSource(t, from, round, 4000)
	}
	source, err := query.Open(from, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(source, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() { stop(); <-served; _ = source.Close() })
	slice := func(to string, more ...string) *exec.Cmd {
		c := exec.Command(os.Args[0], append([]string{"copy", "--from", "bigtable://local/local?endpoint=" + listener.Addr().String(), "--to", to}, more...)...)
		c.Env = append(os.Environ(), beSmolwc+"=1")
		return c
	}
	began := time.Now()
	if out, err := slice(filepath.Join(dir, "whole")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(began)
	for range *copyKills {
		c := slice(to)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(took))
		_ = c.Process.Signal(syscall.SIGKILL) // it may have ended
		_ = c.Wait()
	}
	if out, err := slice(to, "--verify").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	target, err := query.OpenReadOnly(to, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	got, err := source.Compare(t.Context(), target, []string{"t"}, nil)
	if err != nil || got.Count != 0 || got.Tables[0].Of != got.Tables[0].And || got.Tables[0].Of.Cells < 1000 {
		t.Errorf("%+v, %v", got, err)
	}
}

func copier(from, to string) *exec.Cmd {
	c := exec.Command(os.Args[0], "copy", "--from", from, "--to", to, "--unfinished")
	c.Env = append(os.Environ(), beSmolwc+"=1")
	return c
}

// changeSource sets, adds and deletes cells of some rows.
func changeSource(t *testing.T, dir string, round, rows int) {
	t.Helper()
	db, err := query.Open(dir, query.Options{Durability: query.DurabilityAsync, Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(2)}, {Name: "n", Aggregate: schema.AggregateSum}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := write.NewBatch()
	for range rows {
		m := write.NewMutation()
		if rand.IntN(5) == 0 {
			m.DeleteCellsInFamily("f")
		}
		m.Set("f", fmt.Sprint(rand.IntN(5)), cells.Bytes(randomBytes(rand.IntN(500))))
		m.Add("n", "", cells.I64(int64(round)))
		b.Add("t", fmt.Sprintf("row %06d", rand.IntN(10_000)), m)
		if b.Len() == 500 {
			if err := db.Apply(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			b = write.NewBatch()
		}
	}
	if err := db.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// randomBytes cannot be compressed.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Int())
	}
	return b
}
