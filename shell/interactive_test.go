package shell_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

// TestMain also runs the program for the tests of the terminal: with SMOLWC_TEST_SHELL
// set, the test binary is a shell on a database in memory.
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
	var ms []*write.Mutation
	for i := range 300 {
		m := write.NewMutation()
		m.Set("meta", "n", cells.I64(int64(i)))
		keys, ms = append(keys, fmt.Sprintf("row#%06d", i)), append(ms, m)
	}
	db.Table("fleet").ApplyBulk(ctx, keys, ms)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	s := shell.New(shell.Streams(db, os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
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
	read int // the part of seen that waitFor has returned
	done chan struct{}
}

// sit starts the shell on a terminal of this size. state is the directory of its
// history; env is added to an environment without a pager.
func sit(t *testing.T, state string, rows, cols uint16, env ...string) *typist {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "SMOLWC_TEST_SHELL=1", "XDG_STATE_HOME="+state, "TERM=xterm", "NO_COLOR=1", "SMOLWC_PAGER=cat"), env...)
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

// waitFor waits until the text appears after the text that was waited for last, and
// returns the output up to it.
func (p *typist) waitFor(text string) string {
	p.t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
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
	p.mu.Lock()
	seen := p.seen.String()[p.read:]
	p.mu.Unlock()
	p.t.Errorf("waited for %q, saw %d bytes that end in %q", text, len(seen), seen[max(0, len(seen)-3000):])
	p.cmd.Process.Signal(syscall.SIGQUIT) // its stacks come to the terminal
	<-p.done
	p.t.Fatalf("the shell was here:\n%s", p.seen.String()[p.read+len(seen):])
	return ""
}

// leaves waits for the shell to end and returns its exit code.
func (p *typist) leaves() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(5 * time.Minute):
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

func TestAtATerminalCtrlCCancelsAQuery(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	os.WriteFile(script, []byte(strings.Repeat("select _key from fleet\n", 10_000)), 0o600)
	p := sit(t, dir, 24, 80)
	p.typed("select count(*)\\\r")
	p.waitFor("   -> ")
	p.typed("from fleet;\r")
	p.waitFor("300\r\n")
	p.waitFor("smolwc> ")
	p.typed("select _key, nosuch from fleet;\r")
	p.waitFor("\r\n             ^")
	p.waitFor("Unrecognized name: nosuch")
	p.waitFor("smolwc> ")
	p.typed("sel\t_key from fl\twhere _key = 'row#000007';\r")
	p.waitFor("(1 row)")
	p.waitFor("smolwc> ")
	p.typed(".read " + script + "\r")
	p.waitFor("row#000042")
	p.typed("\x03")
	p.waitFor("cancelled")
	p.waitFor("smolwc> ")
	p.typed("\x04")
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
	p.waitFor("drop table fleet with 2 families: 300 rows?")
	p.waitFor("yes or no: ")
	p.typed("n\r")
	p.waitFor("nothing was deleted")
	p.waitFor("smolwc> ")
	p.typed("truncate fleet\r")
	p.waitFor("yes or no: ")
	p.typed("y\r")
	p.waitFor("yes in full, or no: ")
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

func TestAtATerminalAStatementOfSeveralLinesComesBackAsOne(t *testing.T) {
	state := t.TempDir()
	p := sit(t, state, 24, 80)
	p.typed("put fleet k meta:x='two\r")
	p.waitFor("   -> ")
	p.typed("lines' \\\r")
	p.waitFor("   -> ")
	p.typed("meta:y=1 -- done\r")
	p.waitFor("put 2 cells")
	p.waitFor("smolwc> ")
	p.typed("get fleet (\r")
	p.waitFor("   -> ")
	p.typed("\x03")
	p.waitFor("smolwc> ")
	p.typed("\x1b[A")
	p.waitFor(`put fleet k meta:x="two\nlines" meta:y=1`)
	p.typed("\x7f2\r")
	p.waitFor("put 2 cells")
	p.waitFor("smolwc> ")
	p.typed("get fleet k\r")
	p.waitFor(`"two\nlines"`)
	p.waitFor("  2\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
	want := "put fleet k meta:x=\"two\\nlines\" meta:y=1\nput fleet k meta:x=\"two\\nlines\" meta:y=2\nget fleet k\n"
	if text, _ := os.ReadFile(filepath.Join(state, "smolwc", "history")); string(text) != want {
		t.Errorf("history %q", text)
	}
}

// Without a line editor the terminal sends a signal for Ctrl-C, and with one until the
// editor reads.
func TestAtATerminalWithoutAnEditorCtrlCDropsTheStatement(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80, "TERM=dumb")
	p.typed("get fleet (\n")
	p.waitFor("   -> ")
	p.typed("row#000001\x03")
	p.waitFor("smolwc> ")
	p.typed("count fleet prefix=row#00001\n")
	p.waitFor("\n10\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestAtATerminalManyPastedLinesRun(t *testing.T) {
	for _, brackets := range []bool{true, false} {
		p := sit(t, t.TempDir(), 24, 80)
		var paste strings.Builder
		for i := range 200 {
			fmt.Fprintf(&paste, "put fleet pasted#%03d meta:x=\"value %d\" \\\n\tmeta:y=1\n", i, i)
		}
		text := paste.String()
		if brackets {
			text = "\x1b[200~" + text + "\x1b[201~"
		}
		go p.typed(text)
		for range 200 {
			p.waitFor("put 2 cells")
		}
		p.waitFor("smolwc> ")
		p.typed("count fleet prefix=pasted#\r")
		p.waitFor("\n200\r\n")
		p.waitFor("smolwc> ")
		p.typed("\x04")
		p.leaves()
	}
}

// A query of several lines is one query, however they come, and so is a statement whose
// condition stands on its next line.
func TestAtATerminalALineOfAQueryDoesNotRunByItself(t *testing.T) {
	const query, where = "select count(*) as n from fleet", "where _key < 'row#000007'"
	p := sit(t, t.TempDir(), 24, 80)
	for name, text := range map[string]string{
		"typed with a semicolon": query + "\r" + where + ";\r", "pasted": "\x1b[200~" + query + "\n" + where + ";\n\x1b[201~",
		"pasted without an end": "\x1b[200~" + query + "\n" + where + ";\x1b[201~\r", "ended by an empty line": query + "\r" + where + "\r\r",
		"pasted and ended by an empty line": "\x1b[200~" + query + "\n\n" + where + "\x1b[201~\r\r",
		"pasted beside others":              "\x1b[200~.mode table\n" + query + "\n" + where + ";\n-- don't\n\x1b[201~",
	} {
		p.typed(text)
		if seen := p.waitFor("\n7\r\n"); strings.Contains(seen, "300") || strings.Contains(seen, "error") {
			t.Fatalf("%s: saw %q", name, seen)
		}
		p.waitFor("smolwc> ")
	}
	for _, c := range []struct{ name, text string }{ // each deletes fewer rows than the next one
		{"pasted", "\x1b[200~delete fleet prefix=row#\nwhere meta:n >= 200 yes\x1b[201~\r"},
		{"pasted without brackets", "delete fleet prefix=row#\rwhere meta:n >= 100 and meta:n < 200 yes\r"},
		{"pasted with an empty line", "\x1b[200~delete fleet prefix=row#\n\n  -- late\n  where meta:n >= 50\nyes\n\x1b[201~"},
	} {
		p.typed(c.text)
		if seen := p.waitFor(" rows"); strings.Contains(seen, "error") {
			t.Fatalf("%s: saw %q", c.name, seen)
		}
		p.waitFor("smolwc> ")
	}
	p.typed("count fleet\r")
	p.waitFor("\n50\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x1b[A\x1b[A\r") // the last of them, from the history
	p.waitFor("smolwc> ")
	p.typed("count fleet\r\x04")
	p.waitFor("\n50\r\n")
	p.leaves()
}

// The editor would store the replacement character for each byte that is not UTF-8.
func TestAtATerminalBytesThatAreNotTextAreRefused(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	for _, text := range []string{"put fleet \"k\xff\" meta:x=1\r", "put fleet k meta:x='\xe2\x82'\r", "\x1b[200~put fleet k\xff meta:x=1\n\x1b[201~", "select '\xff' as x;\r"} {
		p.typed(text)
		seen := p.waitFor("UTF-8")
		if strings.Contains(seen, "put 1 cell") {
			t.Errorf("%q: saw %q", text, seen)
		}
		p.waitFor("smolwc> ")
	}
	p.typed("put fleet \"k\\xff\" meta:x='é'\r")
	p.waitFor("put 1 cell")
	p.waitFor("smolwc> ")
	p.typed("count fleet prefix=k\r")
	p.waitFor("\n1\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestAtATerminalAPastedTabIsText(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	p.typed("\x1b[200~put\tfleet\tro\tmeta:x=\"a\tb\" \tmeta:y='c\td'\r\n\x1b[201~")
	p.waitFor("put 2 cells")
	p.waitFor("smolwc> ")
	p.typed("get fleet ro\r")
	p.waitFor(`"a\tb"`)
	p.waitFor(`"c\td"`)
	p.waitFor("smolwc> ")
	p.typed("sca\tfl\tlimit=1\r") // typed ones still complete
	p.waitFor("(1 row)")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestAtATerminalTheTableFollowsTheWindow(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 200)
	p.typed("put fleet long meta:x='" + strings.Repeat("y", 100) + "'\r")
	p.waitFor("put 1 cell")
	p.waitFor("smolwc> ")
	for _, cols := range []uint16{40, 120, 20} {
		if err := pty.Setsize(p.tty, &pty.Winsize{Rows: 24, Cols: cols}); err != nil {
			t.Fatal(err)
		}
		p.typed("scan fleet prefix=long\r")
		p.waitFor("ROW")
		out := "ROW" + p.waitFor("(1 row)")
		widest := 0
		for line := range strings.Lines(out) {
			widest = max(widest, shell.TextWidth(strings.TrimRight(line, "\r\n")))
		}
		if widest > int(cols) || cols == 120 && widest < 100 {
			t.Errorf("%d columns: a line of %d in %q", cols, widest, out)
		}
		p.waitFor("smolwc> ")
	}
	p.typed("\x04")
	p.leaves()
}

func TestAtATerminalHostileKeysAreShownSafely(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	p.typed(`put fleet "\x00\x1b[31m\xff` + strings.Repeat("k", 3000) + `" meta:"\x1b]0;t\x07"="\x1b[2J\u202e"` + "\r")
	p.waitFor("put 1 cell")
	p.waitFor("smolwc> ")
	for _, statement := range []string{"scan fleet limit=1", `scan fleet limit=1 as line`, `scan fleet limit=1 as json`, `scan fleet limit=1 as csv`, `scan fleet limit=1 as cbt`} {
		p.typed(statement + "; count fleet\r")
		_, out, _ := strings.Cut(p.waitFor("301\r\n"), "\r\n") // after the echo of the input
		if strings.Contains(out, "\x1b") || strings.Contains(out, "\x07") || len(out) < 40 {
			t.Errorf("%s: %q", statement, out)
		}
	}
	p.typed("get fleet \"\\x00\t") // the key completes, in quotes
	p.waitFor(`\0\x1b[31m\xffkkkk`)
	p.typed("\x03")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

// pagerScript makes a pager of a few lines of sh.
func pagerScript(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return "SMOLWC_PAGER=" + file
}

func TestAtATerminalLongResultsGoThroughThePager(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80, pagerScript(t, `sed 's/^/| /'; echo page ends`))
	p.typed("scan fleet limit=22\r") // with header and footer more than 24 lines
	p.waitFor("| row#000000")
	p.waitFor("| (22 rows)")
	p.waitFor("page ends")
	p.waitFor("smolwc> ")
	p.typed("scan fleet limit=5; count fleet\r")
	if out := p.waitFor("\n300\r\n"); strings.Contains(out, "| row") {
		t.Errorf("paged: %q", out)
	}
	p.waitFor("smolwc> ")
	p.typed(".pager off\r")
	p.waitFor("smolwc> ")
	p.typed("scan fleet\r")
	if out := p.waitFor("(100 rows)"); strings.Contains(out, "| row") {
		t.Errorf("paged: %q", out)
	}
	p.waitFor("smolwc> ")
	p.typed(".pager on\r")
	p.waitFor("smolwc> ")
	p.typed("count fleet\r")
	p.waitFor("| 300")
	p.waitFor("page ends")
	p.waitFor("smolwc> ")
	p.typed("scan fleet; nonsense\r") // errors are shown after the page
	p.waitFor("page ends")
	p.waitFor("there is no statement")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// longScript is a script of many scans.
func longScript(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(strings.Repeat("scan fleet limit=0\n", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAtATerminalQuittingThePagerEndsTheScan(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80, pagerScript(t, "head -1; echo quits"))
	p.typed(".read " + longScript(t) + "\r")
	p.waitFor("quits")
	if out := p.waitFor("smolwc> "); strings.Contains(out, "error") || strings.Contains(out, "cancelled") {
		t.Errorf("saw %q", out)
	}
	p.typed("count fleet\r")
	p.waitFor("\n300\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestAtATerminalCtrlCEndsThePagerOfARunningStatement(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80, pagerScript(t, "trap '' INT; head -1; echo waits; exec sleep 1000"))
	p.typed(".read " + longScript(t) + "\r")
	p.waitFor("waits")
	p.typed("\x03")
	p.waitFor("cancelled") // in a scan, or between two
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestAtATerminalACommandThatReadsNoMoreEndsItsOutputAlone(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80)
	p.typed(".output | head -1\r")
	p.waitFor("smolwc> ")
	p.typed(".read " + longScript(t) + "\r")
	p.waitFor("meta:n")
	p.waitFor("| head -1 no longer reads; results are shown here again")
	p.waitFor("smolwc> ")
	p.typed("count fleet\r")
	p.waitFor("\n300\r\n")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestADumbTerminalHasPlainLines(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80, "TERM=dumb", "NO_COLOR=", "SMOLWC_PAGER=less")
	p.typed("half a statement\x03")
	p.waitFor("smolwc> ")
	p.typed("count fleet\r")
	p.waitFor("\n300\r\n")
	p.waitFor("smolwc> ")
	p.typed("scan fleet\r")
	p.waitFor("(100 rows)")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if seen := p.seen.String(); strings.Contains(seen, "\x1b") {
		t.Errorf("saw %q", seen)
	}
}

func TestAtATerminalKeysAndErrorsAreMarked(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80, "NO_COLOR=")
	p.typed("scan fleet limit=1; get flet x\r")
	p.waitFor("\x1b[1mrow#000000\x1b[0m")
	p.waitFor("\x1b[31merror: unknown table")
	p.waitFor("smolwc> ")
	p.typed(".color off\r")
	p.waitFor("smolwc> ")
	p.typed("scan fleet limit=1\r")
	if out := p.waitFor("(1 row)"); strings.Contains(out, "\x1b[1m") {
		t.Errorf("saw %q", out)
	}
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

func TestSIGTERMEndsASessionInOrder(t *testing.T) {
	state := t.TempDir()
	p := sit(t, state, 24, 80)
	p.typed("count fleet\r")
	p.waitFor("\n300\r\n")
	p.waitFor("smolwc> ")
	p.typed("half a li")
	p.waitFor("half a li")
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.leaves(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if text, _ := os.ReadFile(filepath.Join(state, "smolwc", "history")); string(text) != "count fleet\n" {
		t.Errorf("history %q", text)
	}
}

// The pager has all of the result, and waits for its reader.
func TestSIGTERMEndsThePagerThatShowsAResult(t *testing.T) {
	p := sit(t, t.TempDir(), 24, 80, pagerScript(t, "cat >/dev/null; echo shown; exec sleep 1000"))
	p.typed("scan fleet limit=50\r")
	p.waitFor("shown")
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.leaves(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

func TestAtATerminalAnImportAsksBeforeItGuesses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "planes.csv")
	if err := os.WriteFile(file, []byte("id;model\na;737\nb;A320\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := sit(t, t.TempDir(), 24, 200)
	p.typed("import planes from '" + file + "'\r")
	p.waitFor("model: 737, A320")
	p.waitFor(`create table planes family c; import planes from "` + file + `" key="{id}" columns=c:model=model sep=";"`)
	p.waitFor("run this?")
	p.waitFor("yes or no: ")
	p.typed("no\r")
	p.waitFor("nothing was imported")
	p.waitFor("smolwc> ")
	p.typed("count planes\r")
	p.waitFor("unknown table")
	p.waitFor("smolwc> ")
	p.typed("import planes from '" + file + "'\r")
	p.waitFor("yes or no: ")
	p.typed("yes\r")
	p.waitFor("imported 2 rows, 2 cells")
	p.waitFor("smolwc> ")
	p.typed("select _key, c['mo\t from planes;\r")
	p.waitFor("A320")
	p.waitFor("smolwc> ")
	p.typed("\x04")
	p.leaves()
}

// The tour runs its statements one by one, on Enter, and asks where they ask.
func TestTour(t *testing.T) {
	t.Parallel()
	p := sit(t, t.TempDir(), 12, 120, "SMOLWC_PAGER=less -SRFX") // the pager must not take the tour
	p.typed(".tour\r")
	for i, want := range []string{"created table tour", "put 2 cells", "put 2 cells", "2024-01-25T00:00:00Z  7", "(2 rows)", "plane", "", ""} {
		p.waitFor(fmt.Sprintf("(%d of 8) Enter runs it", i+1))
		p.typed("\r")
		if want == "" {
			p.waitFor("yes or no: ")
			p.typed("yes\r")
			continue
		}
		p.waitFor(want)
	}
	p.waitFor("That was the tour")
	p.typed(".tour\r")
	p.waitFor("(1 of 8) Enter runs it")
	p.typed("q\r")
	p.waitFor("the tour has ended")
	p.typed("count tour\r")
	p.waitFor("unknown table")

	p.typed(".tour\r")
	for i := range 6 {
		p.waitFor(fmt.Sprintf("(%d of 8) Enter runs it", i+1))
		p.typed("\r")
	}
	p.waitFor("and asks: type yes.")
	p.typed("\r")
	p.waitFor("yes or no: ")
	p.typed("\r")
	p.waitFor("nothing was changed")
	p.typed("drop table tour yes\r")
	p.waitFor("dropped table tour")
}
