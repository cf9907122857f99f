package shell_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

// TestMain is also the program that the tests of the terminal run: the test
// binary with SMOLWC_TEST_SHELL set is a shell on a database in memory.
func TestMain(m *testing.M) {
	if os.Getenv("SMOLWC_TEST_SHELL") == "" {
		os.Exit(m.Run())
	}
	os.Exit(shellProcess())
}

func shellProcess() int {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	ctx := context.Background()
	db.CreateTable(ctx, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}, {Name: "flight"}}})
	var keys []string
	var ms []*query.Mutation
	for i := range 300 {
		m := query.NewMutation()
		m.Set("meta", "n", cells.I64(int64(i)))
		keys, ms = append(keys, fmt.Sprintf("row#%06d", i)), append(ms, m)
	}
	db.Table("fleet").ApplyBulk(ctx, keys, ms)
	s := shell.New(shell.Std(db))
	err = s.Run(ctx)
	s.Close()
	return shell.ExitCode(err)
}

// A typist sits at a terminal on which the shell runs.
type typist struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen strings.Builder
	read int // how much of seen was waited for
	done chan struct{}
}

// sit starts the shell on a terminal of this size. state is where its history is.
func sit(t *testing.T, state string, rows, cols uint16) *typist {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SMOLWC_TEST_SHELL=1", "XDG_STATE_HOME="+state, "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: cols})
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	p := &typist{t: t, tty: tty, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		tty.Close()
	})
	p.waitFor("smolwc> ")
	return p
}

func (p *typist) typed(text string) { io.WriteString(p.tty, text) }

// waitFor waits until the text appears behind what was waited for before, and
// returns what came up to it.
func (p *typist) waitFor(text string) string {
	p.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		p.mu.Lock()
		all := p.seen.String()
		p.mu.Unlock()
		if before, _, ok := strings.Cut(all[p.read:], text); ok {
			p.read += len(before) + len(text)
			return before
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.cmd.Process.Signal(syscall.SIGQUIT) // its stacks come to the terminal
	time.Sleep(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen.String()[p.read:]
	p.t.Fatalf("waited for %q, saw %d bytes that end in %q", text, len(seen), seen[max(0, len(seen)-3000):])
	return ""
}

// leaves waits for the shell to end and returns its exit code.
func (p *typist) leaves() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.t.Fatal("the shell does not end")
	}
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func TestAtATerminalStatementsRunAndErrorsPointAtTheirPlace(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	p.typed("count fleet\r")
	p.waitFor("\n300\r\n")
	p.waitFor("smolwc> ")
	p.typed("get flet x\r")
	p.waitFor("get flet x\r\n    ^\r\nerror: unknown table \"flet\"; did you mean \"fleet\"?")
	p.waitFor("smolwc> ")
	p.typed("scan fleet keys-only\r")
	rows := p.waitFor("(100 rows)")
	if !strings.Contains(rows, "row#000099") || strings.Contains(rows, "row#000100") {
		t.Errorf("saw %q", rows)
	}
	p.waitFor("-- more rows: add limit=0, or .next")
	p.waitFor("smolwc> ")
	p.typed(".next\r")
	p.waitFor("row#000100")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAtATerminalAnOpenQuotePromptsForMoreAndCtrlCClearsIt(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	p.typed("put fleet k meta:x='two\r")
	p.waitFor("   -> ")
	p.typed("lines'\r")
	p.waitFor("put 1 cell")
	p.waitFor("smolwc> ")
	p.typed("scan fleet columns=[\r")
	p.waitFor("   -> ")
	p.typed("\x03")
	p.waitFor("smolwc> ")
	p.typed("get fleet k columns=meta:x\r")
	p.waitFor(`"two\nlines"`)
	p.waitFor("smolwc> ")
	p.typed("quit\r")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAtATerminalCtrlCCancelsTheStatementThatRuns(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	os.WriteFile(script, []byte(strings.Repeat("scan fleet limit=0\n", 10_000)), 0o600)
	p := sit(t, dir, 24, 80)
	p.typed(".read " + script + "\r")
	p.waitFor("row#000042")
	p.typed("\x03")
	p.waitFor("cancelled")
	p.waitFor("smolwc> ")
	p.typed("count fleet\r")
	p.waitFor("\n300\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAtATerminalAnOpenBatchShowsAndSurvivesAMistake(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	p.typed("begin\r")
	p.waitFor("smolwc*> ")
	p.typed("put fleet b#1 meta:x=1\r")
	p.waitFor("in the batch: put 1 cell")
	p.waitFor("smolwc*> ")
	p.typed("put fleet b#2 mta:x=1\r")
	p.waitFor("did you mean")
	p.waitFor("smolwc*> ")
	p.typed("put fleet b#2 meta:x='1\r")
	p.waitFor("    -> ")
	p.typed("2'; commit\r")
	p.waitFor("committed 2 statements")
	p.waitFor("smolwc> ")
	p.typed("count fleet prefix=b#\r")
	p.waitFor("\n2\r\n")
	p.typed("begin\r")
	p.waitFor("smolwc*> ")
	p.typed("put fleet b#3 meta:x=1\r")
	p.waitFor("smolwc*> ")
	p.typed("\x04")
	p.waitFor("the batch was not committed; nothing of it was written")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAtATerminalDroppingAsksFirst(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	p.typed("drop table fleet\r")
	p.waitFor("drop table fleet, its 2 families and all data?")
	p.waitFor("yes or no: ")
	p.typed("n\r")
	p.waitFor("nothing was deleted")
	p.waitFor("smolwc> ")
	p.typed("truncate fleet\r")
	p.waitFor("yes or no: ")
	p.typed("yes\r")
	p.waitFor("truncated table fleet")
	p.waitFor("smolwc> ")
	p.typed("\\q\r")
	p.leaves()
}

func TestAtATerminalTabCompletesAndHistoryIsKept(t *testing.T) {
	state := t.TempDir()
	p := sit(t, state, 24, 80)
	p.typed("cou\tfl\tpre\trow#00001\r")
	p.waitFor("\n10\r\n")
	p.waitFor("smolwc> ")
	p.typed(" put fleet secret meta:x=1\r")
	p.waitFor("put 1 cell")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
	file := filepath.Join(state, "smolwc", "history")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if text, _ := os.ReadFile(file); string(text) != "count fleet prefix=row#00001\n" {
		t.Errorf("history %q", text)
	}
	p = sit(t, state, 24, 80)
	p.typed("\x1b[A\r") // up
	p.waitFor("\n10\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestAtATerminalTheTableFitsItsWidth(t *testing.T) {
	for _, cols := range []uint16{40, 200} {
		p := sit(t, t.TempDir(), 24, cols)
		p.typed("put fleet long meta:x='" + strings.Repeat("y", 150) + "'\r")
		p.waitFor("put 1 cell")
		p.waitFor("smolwc> ")
		p.typed("scan fleet prefix=long\r")
		out := p.waitFor("(1 row)")
		_, out, _ = strings.Cut(out, "ROW")
		for line := range strings.Lines(out) {
			if n := shell.TextWidth(strings.TrimRight(line, "\r\n")); n > int(cols) {
				t.Errorf("%d columns: %d in %q", cols, n, line)
			}
		}
		if strings.Contains(out, "…") != (cols == 40) {
			t.Errorf("%d columns: %q", cols, out)
		}
		p.typed("\x04")
		p.leaves()
	}
}

func TestHistoryLeavesOutWhatIsTooLongOrNoText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "history")
	if lines := shell.LoadHistory(file); lines != nil {
		t.Errorf("a history from nowhere: %q", lines)
	}
	os.MkdirAll(filepath.Dir(file), 0o700)
	os.WriteFile(file, []byte("one\n"+strings.Repeat("x", 100_000)+"\n\xff\n\ntwo\r\nthree"), 0o600)
	lines := shell.LoadHistory(file)
	if want := []string{"one", "two", "three"}; !slices.Equal(lines, want) {
		t.Errorf("history %q", lines)
	}
	if err := shell.SaveHistory(file, make([]string, 5000)); err != nil {
		t.Fatal(err)
	}
	if err := shell.SaveHistory(file, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "a\nb\n" {
		t.Errorf("file %q", text)
	}
}

func TestCompletion(t *testing.T) {
	db := fleet(t, 1)
	s := shell.New(shell.Options{DB: db})
	inUse := shell.New(shell.Options{DB: db, Table: "fleet"})
	for _, c := range []struct {
		s    *shell.Session
		line string
		want string
	}{
		{s, "sc", "scan "},
		{s, "explain sc", "scan "},
		{s, "analyze scan fleet pre", "prefix="},
		{s, "analyze get ", "fleet "},
		{s, "cas fleet k if f", "f:"},
		{s, "cas fleet k i", "if"},
		{s, "gc fleet d", "dry-run"},
		{s, "incr fleet k f", "f:"},
		{s, "d", "delete |describe |drop "},
		{s, "scan ", "fleet "},
		{s, "scan fl", "fleet "},
		{s, "drop ", "table "},
		{s, "drop table f", "fleet "},
		{s, "create table f", ""},
		{s, "scan fleet pre", "prefix="},
		{s, "scan fleet columns=", ""},
		{s, "put fleet k f", "f:"},
		{s, "count fleet where f", "f:"},
		{s, "scan fleet as js", "json|jsonl"},
		{s, "import fleet bad", "bad-lines="},
		{s, "count fleet; sc", "scan "},
		{s, "help sc", "scan"},
		{s, ".mo", ".mode"},
		{s, ".mode js", "json|jsonl"},
		{s, ".use ", "fleet"},
		{s, `\d `, "fleet"},
		{s, "zzz ", ""},
		{inUse, "scan pre", "prefix="},
		{inUse, "put k f", "f:"},
	} {
		got := shell.Complete(c.s, c.line)
		if c.line == "scan fleet columns=" {
			if !slices.Contains(got, "f:") {
				t.Errorf("%q: %q", c.line, got)
			}
			continue
		}
		if c.line == "zzz " || c.line == "create table f" {
			got = slices.DeleteFunc(got, func(s string) bool { return s == "fleet " })
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}
