package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// If it is set, the test binary runs as smolwc.
const beSmolwc = "SMOLWC_TEST_BE_SMOLWC"

func TestMain(m *testing.M) {
	if os.Getenv(beSmolwc) != "" {
		main()
	}
	if os.Getenv("GORACE") == "" { // for the processes of tests, which otherwise take a second to end
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){"smolwc": main})
}

func main() { os.Exit(Main(nil)) }

// The scripts of testdata/script read like sessions at a terminal; testscript's
// own documentation has their commands.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("SMOLWC_TEST_ENGINE", os.Getenv("SMOLWC_TEST_ENGINE"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "rocksdb": // is linked
				return query.HasRocksDB, nil
			case "on-rocksdb": // new databases are
				return query.DefaultEngine() == query.EngineRocksDB, nil
			}
			return name != "tikv", nil // see tikv/stack
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gz":       gz,
			"truncate": truncate,
			"mkdirs":   mkdirs,
			"enqueue":  enqueue,
			"bothways": func(ts *testscript.TestScript, _ bool, args []string) { runBothWays(t, ts, args) },
		},
	})
}

// gz FILE writes FILE.gz.
func gz(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs(args[0] + ".gz"))
	ts.Check(err)
	defer out.Close()
	z := gzip.NewWriter(out)
	_, err = io.WriteString(z, ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(z.Close())
}

// bothways [-c] FILE runs a script of statements at hand and over the network, on new
// databases; with -c each line by itself. The outputs and exit codes must be the same; out is
// the output at hand, and then its errors. Times in them are TIME. $WORK in the script is the
// directory of the test's files, which is left out of the outputs.
func runBothWays(t *testing.T, ts *testscript.TestScript, args []string) {
	file := args[len(args)-1]
	s := startServer(t, "--db", ts.MkAbs("far"), "--durability", "async")
	work := ts.Getenv("WORK")
	text := strings.ReplaceAll(ts.ReadFile(file), "$WORK", work)
	ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	statements := []string{"--keep-going", "--format", "table"}
	if args[0] == "-c" {
		for line := range strings.Lines(text) {
			statements = append(statements, "-c", strings.TrimSuffix(line, "\n"))
		}
	} else {
		statements = append(statements, "-f", ts.MkAbs(file))
	}
	times := regexp.MustCompile(` *(?:\d{4}-\d\d-\d\dT[\d:.]+Z?|\b[\d.]+(ms|µs|us|s)\b|-{20,}|TIMESTAMP|\b0 {15,}) *`) // with the widths of columns of times, which end before zeros
	changing := regexp.MustCompile(` \([\d,]+ (rows|lines)/s\)|"(ts|written|ended)(_position)?":\d+|page=[\w-]{12,}`)
	on := func(args ...string) (string, int) {
		var out, errs strings.Builder
		code := run(append(args, statements...), strings.NewReader(""), &out, &errs, noEnv)
		text := strings.ReplaceAll(out.String()+errs.String(), work+string(filepath.Separator), "")
		return times.ReplaceAllString(changing.ReplaceAllString(text, ""), " TIME "), code
	}
	near, nearCode := on("--db", ts.MkAbs("near"))
	far, farCode := on("--addr", s.addr)
	ts.Check(s.end(syscall.SIGTERM))
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(near), 0o600))
	a, b := strings.Split(near, "\n"), strings.Split(far, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			ts.Fatalf("line %d: at hand\n%s\nover the network\n%s", i+1, strings.Join(a[min(i, len(a)):], "\n"), strings.Join(b[min(i, len(b)):], "\n"))
		}
	}
	if nearCode != farCode {
		ts.Fatalf("exit code %d at hand, and %d over the network", nearCode, farCode)
	}
}

// mkdirs DB PATH... makes directories in a database.
func mkdirs(ts *testscript.TestScript, _ bool, args []string) {
	db, err := query.Open(ts.MkAbs(args[0]), query.Options{MustExist: true})
	ts.Check(err)
	ts.Check(db.Update(context.Background(), func(tx *query.Tx) error {
		for _, path := range args[1:] {
			if _, err := directory.New(directory.Options{}).Create(context.Background(), tx, strings.Split(path, "/"), nil); err != nil {
				return err
			}
		}
		return nil
	}))
	ts.Check(db.Close())
}

// enqueue DB ZONE PAYLOAD... enqueues items of the type mail. The first one is made a
// dead letter, and its id is in $DEAD.
func enqueue(ts *testscript.TestScript, _ bool, args []string) {
	db, err := query.Open(ts.MkAbs(args[0]), query.Options{MustExist: true})
	ts.Check(err)
	ctx, q, zone := context.Background(), queue.New(db, queue.Options{}), args[1]
	ts.Check(db.Update(ctx, func(tx *query.Tx) error {
		for i, payload := range args[2:] {
			id, err := q.Enqueue(ctx, tx, zone, queue.Item{Type: "mail", Payload: []byte(payload)})
			if err != nil {
				return err
			}
			if i > 0 {
				continue
			}
			ts.Setenv("DEAD", id.String())
			jobs, err := q.Dequeue(ctx, tx, zone, 1, time.Minute)
			if err != nil {
				return err
			}
			if err := jobs[0].Bury(ctx, tx, errors.New("no such mailbox")); err != nil {
				return err
			}
		}
		return nil
	}))
	ts.Check(db.Close())
}

// truncate FILE N cuts the last N bytes off.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-n))
}
