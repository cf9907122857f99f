package shell_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
	"github.com/smolwc/smolwc/shell/shelltest"
)

// fleet is a database with n rows of one cell in table fleet.
func fleet(t testing.TB, n int) *query.DB {
	t.Helper()
	db := openMemory(t)
	ctx := context.Background()
	if err := db.CreateTable(ctx, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	var keys []string
	var ms []*write.Mutation
	for i := range n {
		m := write.NewMutation()
		m.Set("f", "n", cells.I64(int64(i)))
		keys, ms = append(keys, fmt.Sprintf("row#%06d", i)), append(ms, m)
	}
	if _, err := db.Table("fleet").ApplyBulk(ctx, keys, ms); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestMessagesHoldNoControlCharacters(t *testing.T) {
	db := fleet(t, 1)
	for _, script := range []string{
		"get fleet k columns=\"\\x1b[31m\":x", "get \"\\x1b\" k", ".mode \x1b[31m", ".use \u202ex", ".\x1b", ".read \x1b[31m", ".limit \x07", "\\d \u202e",
		"get t \x07", "get t k \u202e", "help \u202e", "put fleet k f:x=\"\\xff\"", "import fleet from '\x1b' key='{\u202e}' columns=f:\"\x1b\"", "\x1b", "get fleet k columns=f:\x00",
		"drop table fleet -- \x1b", `scan fleet regex="\x1b("`, `scan fleet columns=f:/"\x1b["/`, `append fleet "\x1b" f:"\x1b" 5i32`, `cas fleet "\x1b" if f:"\x1b" exists put g:x=1`,
		"begin\nget fleet \"\\x1b\"", `incr fleet "\x1b" f:n "\x1b"`, `add fleet k f:"\x1b" 5`, "delete fleet prefix=\"\x1b\"",
	} {
		out, errs, err := shelltest.Run(t, shell.Options{DB: db, Terminal: true}, script)
		if err == nil {
			t.Errorf("%q is no error", script)
		}
		shelltest.CheckLines(t, out+errs, 80)
	}
}

func TestGridsBeginAnewForNewColumns(t *testing.T) {
	db := fleet(t, 101)
	ctx := context.Background()
	for i, key := range []string{"s1", "s2", "s3", "s4", "s5", "s6"} {
		m := write.NewMutation()
		m.Set("f", fmt.Sprint("col", i), cells.Bool(true))
		if err := db.Table("fleet").Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err := shelltest.Run(t, shell.Options{DB: db, Format: "table"}, "scan fleet")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out, "ROW"); n != 2 {
		t.Errorf("%d headers in\n%s", n, out)
	}
	_, last, _ := strings.Cut(out, "\n\n")
	if want := "ROW  f:col0  f:col1"; !strings.HasPrefix(last, want) {
		t.Errorf("second grid is\n%s", last)
	}
}

// A firstWrite keeps the first write.
type firstWrite struct {
	first chan string
	once  bool
}

func (w *firstWrite) Write(b []byte) (int, error) {
	if !w.once {
		w.once = true
		w.first <- string(b)
	}
	return len(b), nil
}

func TestFirstRowsOfALongScanAppearAtOnce(t *testing.T) {
	db := fleet(t, 50_000)
	w := &firstWrite{first: make(chan string, 1)}
	s := shell.New(shell.Options{DB: db, Out: w})
	if err := s.RunStatement(context.Background(), "scan fleet"); err != nil {
		t.Fatal(err)
	}
	if first := <-w.first; strings.Count(first, "\n") > 1 {
		t.Errorf("the first write held %d rows", strings.Count(first, "\n"))
	}
}

// A closingPipe takes a few bytes and then is closed, as by head -1.
type closingPipe struct{ left int }

func (w *closingPipe) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	}
	return len(b), nil
}

func TestAClosedPipeEndsAScriptQuietly(t *testing.T) {
	db := fleet(t, 20_000)
	for _, format := range shell.Formats {
		if format == "quiet" {
			continue
		}
		var errs bytes.Buffer
		s := shell.New(shell.Options{DB: db, Out: &closingPipe{100}, Err: &errs, Format: format, KeepGoing: true})
		err := s.RunScript(context.Background(), "script", strings.NewReader("scan fleet\nput fleet late f:x=1\n"))
		if !errors.Is(err, shell.ErrOutputClosed) || shell.ExitCode(err) != 0 || errs.Len() > 0 {
			t.Errorf("%s: %v, exit code %d, stderr %q", format, err, shell.ExitCode(err), errs.String())
		}
		if row, err := db.Table("fleet").ReadRow(context.Background(), "late"); row != nil || err != nil {
			t.Errorf("%s: the script went on: %v, %v", format, row, err)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAFullDiskIsAnError(t *testing.T) {
	var errs bytes.Buffer
	s := shell.New(shell.Options{DB: fleet(t, 10), Out: fullDisk{}, Err: &errs})
	err := s.RunScript(context.Background(), "script", strings.NewReader("scan fleet"))
	if shell.ExitCode(err) != 1 || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("%v, stderr %q", err, errs.String())
	}
}

// A cancelling writer cancels when the first output comes.
type cancelling struct{ cancel func() }

func (w cancelling) Write(b []byte) (int, error) { w.cancel(); return len(b), nil }

func TestCancellingSaysHowFarTheStatementGot(t *testing.T) {
	db := fleet(t, 100_000)
	ctx, cancel := context.WithCancel(context.Background())
	var errs bytes.Buffer
	s := shell.New(shell.Options{DB: db, Out: cancelling{cancel}, Err: &errs, KeepGoing: true})
	err := s.RunScript(ctx, "script", strings.NewReader("scan fleet\ncount fleet"))
	if code := shell.ExitCode(err); code != 130 {
		t.Errorf("%v, exit code %d", err, code)
	}
	if !strings.HasPrefix(errs.String(), "cancelled after ") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("stderr %q", errs.String())
	}
}

func TestOutputGoesToAFileAndBack(t *testing.T) {
	db, file := fleet(t, 3), filepath.Join(t.TempDir(), "out")
	out, _, err := shelltest.Run(t, shell.Options{DB: db, Terminal: true, Format: "jsonl"},
		".output '"+file+"'\ncount fleet\n.output\ncount fleet keys=row#000000\n.output | tr 0-9 a-j\ncount fleet\n")
	if err != nil || out != "{\"rows\":1}\n{\"rows\":d}\n" {
		t.Errorf("%v, out %q", err, out)
	}
	if text, _ := os.ReadFile(file); string(text) != "{\"rows\":3}\n" {
		t.Errorf("file holds %q", text)
	}
}

// The default limit of a scan on a terminal is only for the screen: output to a file or
// a command is never cut by it. If a limit cuts the result, the shell says so.
func TestRedirectedOutputIsNotCut(t *testing.T) {
	const rows = 250
	db, file := fleet(t, rows), filepath.Join(t.TempDir(), "out")
	lines := func(name string) int {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		return strings.Count(string(text), "\n")
	}
	for _, quiet := range []bool{false, true} {
		o := shell.Options{DB: db, Terminal: true, Quiet: quiet}
		out, errs, err := shelltest.Run(t, o, ".output "+file+"\nscan fleet as csv\n.output\nscan fleet as csv\n.output | wc -l\nscan fleet as csv\n")
		if got := lines(file); err != nil || got != rows+1 {
			t.Errorf("%v, %d lines in the file", err, got)
		}
		if got := strings.Count(out, "row#"); got != 100 || strings.Count(errs, "-- more rows: add limit=0") != 1 || !strings.Contains(out, "251") {
			t.Errorf("%d rows on the screen, stderr %q", got, errs)
		}
		if _, _, err := shelltest.Run(t, o, "scan fleet into '"+file+"' overwrite as csv\n"); err != nil || lines(file) != rows+1 {
			t.Errorf("%v, %d lines by into", err, lines(file))
		}
		_, errs, err = shelltest.Run(t, o, ".limit 7\n.output "+file+"\nscan fleet as csv\n.limit\n")
		if err != nil || lines(file) != 1+7+1 || !strings.Contains(errs, "-- more rows: add limit=0") {
			t.Errorf("%v, %d lines with a limit that was asked for, stderr %q", err, lines(file), errs)
		}
	}
}

func TestScriptsReadOthersAndNameThemInErrors(t *testing.T) {
	db, dir := fleet(t, 3), t.TempDir()
	inner, loop := filepath.Join(dir, "inner"), filepath.Join(dir, "loop")
	os.WriteFile(inner, []byte("count fleet\n\n  get flet a\n"), 0o600)
	os.WriteFile(loop, []byte(".read "+loop), 0o600)
	out, errs, err := shelltest.Run(t, shell.Options{DB: db}, ".read "+inner+"\ncount fleet")
	if want := inner + `:3:7: unknown table "flet"; did you mean "fleet"?` + "\n"; out != "{\"rows\":3}\n" || errs != want || shell.ExitCode(err) != 1 {
		t.Errorf("%v, out %q, stderr %q", err, out, errs)
	}
	if _, errs, err = shelltest.Run(t, shell.Options{DB: db}, ".read "+loop); err == nil || !strings.Contains(errs, "read each other") {
		t.Errorf("%v, stderr %q", err, errs)
	}
}

func TestImportLoadsAFile(t *testing.T) {
	db, file := fleet(t, 0), filepath.Join(t.TempDir(), "planes.csv")
	os.WriteFile(file, []byte("tail,model,seats\nTF-FIR,Boeing 757,183\nTF-FIS,NA,\n"), 0o600)
	script := "import fleet from '" + file + "' key='plane#{tail}' columns=f:model=model,seats:i32,f:tail=tail na=NA\n"
	script = strings.Replace(script, "seats:i32", "f:seats=seats:i32", 1)
	_, errs, err := shelltest.Run(t, shell.Options{DB: db}, script)
	if err != nil || !strings.HasPrefix(errs, "imported 2 rows, 4 cells in ") {
		t.Fatalf("%v, stderr %q", err, errs)
	}
	out, _, _ := shelltest.Run(t, shell.Options{DB: db, Format: "csv"}, "scan fleet columns=f:model,seats,tail")
	if want := "key,f:model,f:seats,f:tail\nplane#TF-FIR,Boeing 757,183,TF-FIR\nplane#TF-FIS,,,TF-FIS\n"; out != want {
		t.Errorf("out %q", out)
	}
	_, errs, err = shelltest.Run(t, shell.Options{DB: db}, strings.Replace(script, "=model", "=modle", 1))
	if shell.ExitCode(err) != 1 || !strings.HasPrefix(errs, "script:1:1: ") || !strings.Contains(errs, "modle") {
		t.Errorf("%v, stderr %q", err, errs)
	}
}

func TestAScriptOfTenMegabytesRunsFromAPipe(t *testing.T) {
	db := fleet(t, 0)
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriter(w)
		comment := "-- " + strings.Repeat("x", 10_000) + "\n"
		for range 1000 {
			b.WriteString(comment)
		}
		b.WriteString("put fleet long f:x=\"" + strings.Repeat("y", 1<<20) + "\"\nnonsense\n")
		b.Flush()
		w.Close()
	}()
	var errs bytes.Buffer
	s := shell.New(shell.Options{DB: db, Err: &errs})
	err := s.RunScript(context.Background(), "stdin", r)
	if !strings.HasPrefix(errs.String(), "stdin:1002:1: there is no statement") {
		t.Fatalf("%v, stderr %q", err, errs.String())
	}
	if row, err := db.Table("fleet").ReadRow(context.Background(), "long"); err != nil || len(row.Text("f", "x")) != 1<<20 {
		t.Errorf("%v", err)
	}
}

// hostile draws texts that mix ordinary and special characters.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"a", "\x00", "\x1b[31m", "\u202e", "\u2028", "\u0085", "\x9b", "\xff", "é", "日本", "\u0301", `"`, `'`, `\`, "|", ",", "\n", "\r", "\t", " ", "\U000e0001"}),
		rapid.String(),
	)
	return rapid.Map(rapid.SliceOfN(piece, 1, 6), func(p []string) string { return strings.Join(p, "") })
}

func TestNoFormatLetsControlCharactersReachATerminal(t *testing.T) {
	db := fleet(t, 0)
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		key, qualifier, text := hostile().Filter(func(s string) bool { return s != "" }).Draw(rt, "key"), hostile().Draw(rt, "qualifier"), hostile().Draw(rt, "text")
		m := write.NewMutation()
		m.Set("f", qualifier, cells.Bytes([]byte(text)))
		m.Set("f", qualifier+"2", cells.String(strings.ToValidUTF8(text, "")))
		if err := db.Table("fleet").Apply(ctx, key, m); err != nil {
			rt.Fatal(err)
		}
		defer db.TruncateTable(ctx, "fleet")
		for _, format := range shell.Formats {
			for _, statement := range []string{"scan fleet", "get fleet " + lex.QuoteKey(key), "scan fleet columns=" + lex.QuoteColumn("f", qualifier+"2")} {
				width := rapid.SampledFrom([]int{10, 40, 80, 200}).Draw(rt, "width")
				out, _, err := shelltest.Run(t, shell.Options{DB: db, Terminal: true, Format: format, Width: func() int { return width }}, statement)
				if err != nil {
					rt.Fatal(err)
				}
				shelltest.CheckLines(t, out, width)
				if strings.Contains(out, "\t") != (format == "tsv") && format != "tsv" {
					rt.Fatalf("%s: a tab in %q", format, out)
				}
				for line := range strings.Lines(out) {
					line = strings.TrimSuffix(line, "\n")
					if whole := lex.QuoteKey(key); format == "table" && line != whole && shell.TextWidth(line) > width {
						rt.Fatalf("%q is wider than %d", line, width)
					}
				}
			}
		}
	})
}

func TestLinesCanBeTypedBackIn(t *testing.T) {
	db := fleet(t, 0)
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		key, qualifier, text := hostile().Filter(func(s string) bool { return s != "" }).Draw(rt, "key"), hostile().Draw(rt, "qualifier"), hostile().Draw(rt, "text")
		value := rapid.SampledFrom([]cells.Value{cells.Bytes([]byte(text)), cells.String(strings.ToValidUTF8(text, "")), cells.I32(-5), cells.Byte(7), cells.F32(1e10), cells.F64(3), cells.Bool(true)}).Draw(rt, "value")
		m := write.NewMutation()
		m.SetAt("f", qualifier, cells.Timestamp(rapid.Int64Range(0, int64(cells.MaxTimestamp)).Draw(rt, "ts")), value)
		if err := db.Table("fleet").Apply(ctx, key, m); err != nil {
			rt.Fatal(err)
		}
		defer db.TruncateTable(ctx, "fleet")
		before, _, err := shelltest.Run(t, shell.Options{DB: db, Format: "line"}, "scan fleet")
		if err != nil {
			rt.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(before), "\n")
		after, errs, err := shelltest.Run(t, shell.Options{DB: db, Format: "line"}, "truncate fleet yes\nput fleet "+strings.Join(lines, " ")+"\nscan fleet")
		after = strings.TrimPrefix(strings.TrimPrefix(after, "truncated table fleet\n"), "put 1 cell\n")
		if err != nil || before != after {
			rt.Fatalf("%v %s: printed %q, then %q", err, errs, before, after)
		}
	})
}

func TestJSONLosesNothing(t *testing.T) {
	db := fleet(t, 0)
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		key, qualifier, text := hostile().Filter(func(s string) bool { return s != "" }).Draw(rt, "key"), hostile().Draw(rt, "qualifier"), hostile().Draw(rt, "text")
		m := write.NewMutation()
		m.Set("f", qualifier, cells.String(strings.ToValidUTF8(text, "")))
		if err := db.Table("fleet").Apply(ctx, key, m); err != nil {
			rt.Fatal(err)
		}
		defer db.TruncateTable(ctx, "fleet")
		out, _, err := shelltest.Run(t, shell.Options{DB: db}, "scan fleet as json")
		if err != nil {
			rt.Fatal(err)
		}
		var rows []struct {
			Key    *string
			KeyB64 []byte `json:"key_b64"`
			Cells  []struct {
				C    *string
				CB64 []byte `json:"c_b64"`
				V    string
			}
		}
		if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 1 || len(rows[0].Cells) != 1 {
			rt.Fatalf("%v: %s", err, out)
		}
		c := rows[0].Cells[0]
		if either(rows[0].Key, rows[0].KeyB64) != key || either(c.C, c.CB64) != "f:"+qualifier || c.V != strings.ToValidUTF8(text, "") {
			rt.Fatalf("%q %q %q became %s", key, qualifier, text, out)
		}
	})
}

func either(text *string, b []byte) string {
	if text != nil {
		return *text
	}
	return string(b)
}

// A heapWriter notes the largest heap seen while it is written to.
type heapWriter struct{ writes, most uint64 }

func (w *heapWriter) Write(b []byte) (int, error) {
	if w.writes++; w.writes%20 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.most = max(w.most, m.HeapAlloc)
	}
	return len(b), nil
}

func TestMemoryStaysFlatHoweverLongTheScan(t *testing.T) {
	db := fleet(t, 100_000)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, format := range []string{"table", "json", "csv", "line"} {
		w := &heapWriter{}
		s := shell.New(shell.Options{DB: db, Out: w, Format: format})
		if err := s.RunStatement(context.Background(), "scan fleet"); err != nil {
			t.Fatal(err)
		}
		if grown := int64(w.most) - int64(before.HeapAlloc); w.most == 0 || grown > 8<<20 {
			t.Errorf("%s: the heap grew by %d bytes in %d writes", format, grown, w.writes)
		}
	}
}

// A scan whose next row takes long shows the rows before it.
func TestATableShowsItsRowsWhileTheNextIsAwaited(t *testing.T) {
	db := fleet(t, 3)
	var rows []*query.Row
	for row, err := range db.Table("fleet").ReadRows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	before, after := shell.TableWhileIdle(rows)
	if before != "" || strings.Count(after, "\n") != 5 || !strings.Contains(after, "row#000002") {
		t.Errorf("at first %q, later %q", before, after)
	}
}

// An impatient context is cancelled after a number of calls of Err.
type impatient struct {
	context.Context
	cancel func()
	left   atomic.Int32
}

func (c *impatient) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// A cancelled statement says how far it got.
func TestACancelledCountSaysHowFarItGot(t *testing.T) {
	db := fleet(t, 100_000)
	var errs bytes.Buffer
	s := shell.New(shell.Options{DB: db, Err: &errs})
	for looks := range int32(100) {
		errs.Reset()
		ctx := &impatient{}
		ctx.Context, ctx.cancel = context.WithCancel(context.Background())
		ctx.left.Store(looks + 1)
		err := s.RunStatement(ctx, "count fleet where f:n != 5")
		ctx.cancel()
		if err == nil {
			break
		}
		if shell.ExitCode(err) != 130 {
			t.Fatalf("exit code %d, stderr %q", shell.ExitCode(err), errs.String())
		}
		if regexp.MustCompile(`^cancelled after [1-9][\d,]* rows, `).MatchString(errs.String()) {
			return
		}
	}
	t.Errorf("no count was cancelled half-way; the last said %q", errs.String())
}

// The keys of a query's rows stay as wide as those of a scan where its values are long.
func TestKeysOfAQueryStayReadable(t *testing.T) {
	db := openMemory(t)
	if err := db.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "c"}}}); err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("c", "text", cells.String(strings.Repeat("long ", 100)))
	if err := db.Table("t").Apply(t.Context(), "AA1054#2014-10-1#SEA#1442", m); err != nil {
		t.Fatal(err)
	}
	out, _, err := shelltest.Run(t, shell.Options{DB: db, Terminal: true, Format: "table", Width: func() int { return 80 }}, "select _key, c from t;")
	if err != nil || !strings.Contains(out, "AA1054#2014-…-1#SEA#1442  {") {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		if n := shell.TextWidth(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
