package cli

import (
	"flag"
	"fmt"
	"math/rand/v2"
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
