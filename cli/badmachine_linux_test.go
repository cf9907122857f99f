package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// On a disk that cannot be written, each command says so in one line, and reading works.
func TestReadOnlyDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("no disk to be had: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	db := filepath.Join(disk, "db")
	smolwc := func(args ...string) (code int, out string) {
		cmd := exec.Command(os.Args[0], append(args, "--db", db)...)
		cmd.Dir = disk
		cmd.Env = append(os.Environ(), beSmolwc+"=1")
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	if code, out := smolwc("-c", "create table t family f", "-c", "put t k f:q=1"); code != 0 {
		t.Fatal(out)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-c", "tables"}, 3, "lock: read-only file system; --read-only opens it there"},
		{[]string{"--read-only", "--format", "csv", "-c", "count t"}, 0, "1"},
		{[]string{"serve", "--addr", "127.0.0.1:0", "--http", "off"}, 3, "lock: read-only file system"},
		{[]string{"check", "--format", "json"}, 0, `{"ok":true,`},
		{[]string{"export", "t", "t.csv"}, 1, "t.csv: read-only file system"},
		{[]string{"token", "create", "a", "--read", "t"}, 1, "tokens.lock: read-only file system"},
	} {
		code, out := smolwc(c.args...)
		if code != c.code || !strings.Contains(strings.ToLower(out), c.says) || strings.Count(out, "\n") != 1 {
			t.Errorf("%q: exit %d\n%s", c.args, code, out)
		}
	}
	db = filepath.Join(disk, "new")
	if code, out := smolwc("-c", "create table t family f"); code != 3 || !strings.HasSuffix(out, "mkdir "+db+": read-only file system\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// A database that this user may not even read is not offered for reading.
func TestADatabaseOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root runs a process as another user")
	}
	temp := t.TempDir()
	if err := os.Chmod(filepath.Dir(temp), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(temp, "db")
	output(t, "--db", dir, "-c", "create table t family f")
	nobody := func(args ...string) (code int, out string) {
		cmd := exec.Command("/proc/self/exe", append(args, "--db", dir)...) // by its path only root finds it
		cmd.Dir = "/"
		cmd.Env = []string{beSmolwc + "=1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	if code, out := nobody("--read-only", "-c", "tables"); code != 0 {
		t.Skipf("another user cannot run this program, or reach its files: exit %d, %s", code, out)
	}
	for _, c := range []struct {
		mode os.FileMode
		says string
	}{
		{0o755, "lock: permission denied; --read-only opens it there\n"},
		{0o700, "permission denied\n"},
	} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		code, out := nobody("-c", "tables")
		if code != 3 || !strings.HasSuffix(strings.ToLower(out), c.says) || strings.Count(out, "\n") != 1 {
			t.Errorf("mode %o: exit %d, %s", c.mode, code, out)
		}
	}
}

// Ports below 1024 are root's on most machines.
func TestAPortOfRoot(t *testing.T) {
	err := cannotListen("addr", "127.0.0.1:80", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)})
	if want := "--addr is 127.0.0.1:80, a port that this user may not take; name one of 1024 or more, or 0 for any that is free"; err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A clock that was never set is spoken of once, and the database opens.
func TestClockIn1970(t *testing.T) {
	want := "this machine's clock says 1970-01-01T00:00:05Z; new cells get this time, and retention by age follows it, so set the clock"
	if got := clockWarning(time.Unix(5, 0)); got != want {
		t.Errorf("got %s", got)
	}
	if got := clockWarning(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)); got != "" {
		t.Errorf("a good clock: %s", got)
	}
}

// Without a home directory a shell keeps no history, and works.
func TestNoHome(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	for _, home := range []string{"", "/proc/none"} {
		cmd := exec.Command(os.Args[0], "--db", db)
		cmd.Env = []string{beSmolwc + "=1", "TERM=xterm", "HOME=" + home}
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Skipf("no terminal to be had: %v", err)
		}
		stuck := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
		if _, err := io.WriteString(tty, "create table if not exists t family f\nquit\n"); err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(tty) // ends with an error when the process has ended
		err = cmd.Wait()
		stuck.Stop()
		_ = tty.Close()
		if err != nil || strings.Contains(string(out), "the history is not kept: ") != (home != "") {
			t.Errorf("HOME=%s: %v\n%s", home, err, out)
		}
	}
}

// A signal ends a command that waits for the other end of a pipe, wherever a file can be
// named.
func TestASignalEndsTheWaitForAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, db := filepath.Join(dir, "pipe"), filepath.Join(dir, "db")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	var out bytes.Buffer
	if code := run([]string{"--db", db, "-c", "create table t family f"}, nil, &out, &out, noEnv); code != 0 {
		t.Fatalf("exit %d: %s", code, &out)
	}
	for _, args := range [][]string{
		{"--config", pipe, "-c", "tables"},
		{"--db", db, "-f", pipe},
		{"--db", db, "-c", ".read " + pipe},
		{"--db", db, "import", "t", pipe, "--as", "csv", "--key", "{a}", "--columns", "f:b=b"},
		{"--db", db, "-c", "import t from '" + pipe + "' as csv dry-run"},
		{"--db", db, "export", "t", pipe, "--as", "csv"},
		{"--db", db, "-c", "scan t into '" + pipe + "' as csv"},
		{"--config", pipe, "serve", "--addr", "127.0.0.1:0", "--http", "off"},
		{"--config", pipe, "check"}, {"--config", pipe, "doctor"}, {"--config", pipe, "schema", "plan"}, {"--config", pipe, "token", "list"},
		{"--config", pipe, "copy", "--from", db, "--to", filepath.Join(dir, "to")},
		{"--addr", "127.0.0.1:1", "--tls-ca", pipe, "-c", "tables"},
		{"--addr", "127.0.0.1:1", "--tls-cert", pipe, "--tls-key", pipe, "-c", "tables"},
		{"serve", "--memory-only", "--schema", pipe, "--addr", "127.0.0.1:0", "--http", "off"},
		{"region", "--config", pipe},
	} {
		t.Run(strings.Join(args[:3], " "), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], args...)
			cmd.Env = append(os.Environ(), beSmolwc+"=1")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitForPipe(t, cmd.Process.Pid)
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended well")
			}
		})
	}
}

// waitForPipe waits until a thread of the process sleeps in the opening of a pipe.
func waitForPipe(t *testing.T, pid int) {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if errors.Is(err, fs.ErrPermission) {
				return // then the signal may come before the wait
			}
			if strings.HasPrefix(string(text), fmt.Sprint(syscall.SYS_OPENAT)+" ") {
				return
			}
		}
	}
	t.Fatal("it does not wait")
}
