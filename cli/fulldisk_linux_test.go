package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// A write to a full disk fails with this cause, acknowledged writes are kept, and the
// database can be opened again.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("no disk to fill: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	var rows bytes.Buffer
	rows.WriteString("n,v\n")
	for i := range 60_000 {
		fmt.Fprintf(&rows, "%d,%s\n", i, strings.Repeat("v", 200))
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	smolwc := func(args ...string) (code int, out string) {
		cmd := exec.Command(os.Args[0], append([]string{"--db", filepath.Join(disk, "db"), "--format", "csv"}, args...)...)
		cmd.Env = append(os.Environ(), beSmolwc+"=1") // in another process, which the engine could end
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	code, out := smolwc("--keep-going", "-c", "create table t family f", "-c", "import t from '"+file+"' key='{n}' columns=f:v=v batch=10000", "-c", "put t x f:v=1", "-c", "count t")
	refused := len(regexp.MustCompile(`(IO error: No|log: no) space left on device`).FindAllString(out, -1)) // by the import, in the log, and perhaps by the put
	if code != 1 || refused < 2 || refused > 3 || strings.Count(out, "writes are refused") != 1 {
		t.Fatalf("exit %d, %.2000s", code, out)
	}
	count := out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]
	// There may be room for the small row after the large batch: then it is there.
	if n, err := strconv.Atoi(strings.TrimSpace(count)); err != nil || n%10_000 != 3-refused {
		t.Errorf("%q rows, after %d refusals: %.2000s", count, refused, out)
	}
	if query.DefaultEngine() == query.EnginePebble {
		if code, out := smolwc("-c", "count t"); code != exitOpen || !strings.Contains(out, "no space left on device; the database can be opened for reading") {
			t.Errorf("opened for writing: exit %d, %s", code, out)
		}
		// The write whose outcome was not known was seen, and has gone with its process.
		if code, out := smolwc("--read-only", "-c", "count t"); code != 0 || !strings.HasSuffix(out, "0000\n") || len(out) != len(count) {
			t.Errorf("opened for reading: exit %d, %q rows, were %q", code, out, count)
		}
		return
	}
	if code, out := smolwc("-c", "count t"); code != 0 || out != count || count == "0\n" {
		t.Errorf("exit %d, %q rows, were %q", code, out, count)
	}
}

// A bulk load on a full disk fails, and leaves nothing: no rows, and no files.
func TestFullDiskUnderABulkLoad(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("no disk to fill: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	var rows bytes.Buffer
	rows.WriteString("n,v\n")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60_000 {
		fmt.Fprintf(&rows, "%d,", i)
		for range 30 {
			fmt.Fprintf(&rows, "%016x", random.Uint64())
		}
		rows.WriteByte('\n')
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(disk, "db")
	smolwc := func(args ...string) (code int, out string) {
		cmd := exec.Command(os.Args[0], append([]string{"--db", db, "--format", "csv"}, args...)...)
		cmd.Env = append(os.Environ(), beSmolwc+"=1") // in another process, which the engine could end
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	code, out := smolwc("--keep-going", "-c", "create table t family f", "-c", "import t from '"+file+"' key='{n}' columns=f:v=v", "-c", "put t x f:v=1", "-c", "count t")
	if code != 1 || !strings.Contains(strings.ToLower(out), "no space left on device; nothing was imported") || !strings.HasSuffix(out, "\n1\n") {
		t.Errorf("exit %d, %.2000s", code, out)
	}
	if _, err := os.Stat(filepath.Join(db, "bulk")); !os.IsNotExist(err) {
		t.Errorf("files of the load are left: %v", err)
	}
}
