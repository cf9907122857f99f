package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var kills = flag.Int("kills", 8, "processes that the tests of killed backups and restores kill")

// beChild makes the test binary a process that backs up or restores until it is killed.
const beChild = "SMOLWC_TEST_ARCHIVE_CHILD"

// child is that process: it prints each step that it begins, and each that was acknowledged.
func child(job, dir, target string) error {
	ctx, a := context.Background(), archiveIn(target)
	if job == "restore" {
		for i := 0; ; i++ {
			if _, err := a.Restore(ctx, Latest, filepath.Join(dir, fmt.Sprintf("%d-%d", os.Getpid(), i)), RestoreOptions{}); err != nil {
				return err
			}
			fmt.Println("restored", i)
		}
	}
	t := &failer{}
	db := openTestDB(t, dir)
	for round := os.Getpid() * 1000; ; round++ {
		writeRows(t, db, round, 15)
		fmt.Println("begin", digest(visible(t, db)))
		res, err := a.Backup(ctx, db, BackupOptions{Keep: 2})
		if err != nil {
			return err
		}
		fmt.Println("done", res.ID)
	}
}

// A failer is a testing.TB for a process that is not a test.
type failer struct{ testing.TB }

func (*failer) Helper()        {}
func (*failer) Cleanup(func()) {}
func (*failer) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

func digest(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// killed runs the child until its first output, and a little longer, kills it, and
// returns its output.
func killed(t *testing.T, r *rand.Rand, job, dir, target string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), beChild+"="+strings.Join([]string{job, dir, target}, "\n"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	// It is killed between two lines of its output, after a share of the time between
	// the last two: so on every machine the kill comes anywhere in its work.
	var said []string
	last, at := 2+r.IntN(4), time.Now()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		took := time.Since(at)
		if said, at = append(said, lines.Text()), time.Now(); len(said) == last {
			time.AfterFunc(time.Duration(r.Float64()*float64(took)), func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait()
	if stderr.Len() > 0 || len(said) == 0 {
		t.Fatalf("the child says %q and %s", said, &stderr)
	}
	return said
}

// TestKilledBackups kills processes that back up and prune at any moment: every listed
// generation is whole and is the database as it was when that backup began, no
// acknowledged generation is missing, and the next backup leaves no objects that no
// generation needs.
func TestKilledBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, target := filepath.Join(dir, "db"), filepath.Join(dir, "backups")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r, a, ctx := rand.New(rand.NewPCG(seed, 0)), archiveIn(target), t.Context()
	content := map[int]string{} // of generations
	acknowledged := 0
	for round := range *kills {
		last := acknowledged
		begun := ""
		for _, line := range killed(t, r, "backup", source, target) {
			word, rest, _ := strings.Cut(line, " ")
			if word == "begin" {
				begun, last = rest, last+1
				content[last] = begun
				continue
			}
			if _, err := fmt.Sscan(rest, &acknowledged); err != nil {
				t.Fatal(err)
			}
			content[acknowledged], last = begun, acknowledged
		}
		list, err := a.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			if acknowledged > 0 {
				t.Fatalf("round %d: backup %d was acknowledged and none is listed", round, acknowledged)
			}
			continue
		}
		newest := list[len(list)-1].ID
		if newest != acknowledged && newest != acknowledged+1 {
			t.Fatalf("round %d: backup %d was acknowledged, and %d is the newest", round, acknowledged, newest)
		}
		acknowledged = newest
		if report, err := a.Verify(ctx, Options{}); err != nil {
			t.Fatalf("round %d: %+v, %v", round, report, err)
		}
		for _, g := range list[max(0, len(list)-2):] {
			to := filepath.Join(dir, fmt.Sprintf("restored-%d-%d", round, g.ID))
			if _, err := a.Restore(ctx, g.ID, to, RestoreOptions{}); err != nil {
				t.Fatal(err)
			}
			if digest(contentOf(t, to)) != content[g.ID] {
				t.Errorf("round %d: backup %d is not what the database was", round, g.ID)
			}
		}
	}
	if acknowledged < *kills/2 {
		t.Errorf("%d backups only", acknowledged)
	}
	if _, err := a.Backup(ctx, openTestDB(t, source), BackupOptions{Keep: 2}); err != nil {
		t.Fatal(err)
	}
	if report, err := a.Verify(ctx, Options{}); err != nil || report.Unused != 0 || report.Generations != 2 {
		t.Errorf("at the end: %+v, %v", report, err)
	}
	t.Logf("%d backups", acknowledged)
}

// TestKilledRestores kills processes that restore: a directory with the final name is
// the whole database, and any other directory is either no database or a whole one.
func TestKilledRestores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	db, target := openTestDB(t, filepath.Join(dir, "db")), filepath.Join(dir, "backups")
	writeRows(t, db, 1, 100)
	if _, err := archiveIn(target).Backup(t.Context(), db, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	want, to := visible(t, db), filepath.Join(dir, "restored")
	for range *kills {
		killed(t, r, "restore", to, target)
	}
	entries, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	whole, unfinished := 0, 0
	for _, e := range entries {
		path := filepath.Join(to, e.Name())
		if strings.Contains(e.Name(), ".restoring-") {
			unfinished++
			if _, err := os.Stat(filepath.Join(path, currentFile)); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		whole++
		if contentOf(t, path) != want {
			t.Errorf("%s has another content", e.Name())
		}
	}
	if whole < *kills {
		t.Errorf("%d restores only", whole)
	}
	t.Logf("%d whole, %d unfinished", whole, unfinished)
}
