package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A served is smolwc serve in its own process.
type served struct {
	t        *testing.T
	cmd      *exec.Cmd
	addr     string
	pages    string       // of metrics; "" without --http
	greeting string       // what it has printed
	log      bytes.Buffer // to be read when it has ended
}

func startServer(t *testing.T, args ...string) *served {
	t.Helper()
	return start(t, "serve", "serving ", args...)
}

// start starts a command that prints its address after a word.
func start(t *testing.T, command, word string, args ...string) *served {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, self, command, word, args...)
}

// startProgram is start with another smolwc.
func startProgram(t *testing.T, program, command, word string, args ...string) *served {
	t.Helper()
	s := &served{t: t, cmd: exec.Command(program, append([]string{command, "--addr", "127.0.0.1:0"}, args...)...)}
	s.cmd.Env = append(os.Environ(), beSmolwc+"=1")
	s.cmd.Dir = t.TempDir()
	s.cmd.Stderr = io.MultiWriter(os.Stderr, &s.log)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			s.end(syscall.SIGKILL)
		}
	})
	defer s.limit().Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.greeting += lines.Text() + "\n"
		if _, addr, ok := strings.Cut(lines.Text(), " on 127."); ok && strings.HasPrefix(lines.Text(), word) {
			s.addr = "127." + addr
		}
		if url, ok := strings.CutPrefix(lines.Text(), "metrics on "); ok {
			s.pages = url
		}
		if s.addr != "" && (strings.HasPrefix(lines.Text(), "export ") || slices.Contains(args, "--tls-cert")) && (s.pages != "" || !slices.Contains(args, "--http")) {
			return s
		}
	}
	t.Fatalf("the server did not say where it is: %v", s.cmd.Wait())
	return nil
}

// end sends a signal and waits for the end of the process.
func (s *served) end(sig syscall.Signal) error {
	_ = s.cmd.Process.Signal(sig)
	defer s.limit().Stop()
	return s.cmd.Wait()
}

// limit has the process end after five minutes, and say where it stood, unless it is stopped
// before.
func (s *served) limit() *time.Timer {
	return time.AfterFunc(5*time.Minute, func() { _ = s.cmd.Process.Signal(syscall.SIGQUIT) })
}

func (s *served) options() []option.ClientOption {
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return []option.ClientOption{option.WithGRPCConn(conn)}
}

func (s *served) table(name string) *bigtable.Table {
	c, err := bigtable.NewClientWithConfig(s.t.Context(), "local", "local", bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, s.options()...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Open(name)
}

// A killedWriter writes in one way until the server has ended.
type killedWriter struct {
	row          string // to which it appends the number of a write
	write        func(ctx context.Context, tab *bigtable.Table, row string) error
	acknowledged atomic.Int64
	ended        atomic.Bool
}

func (w *killedWriter) key(i int64) string { return fmt.Sprintf("%s#%06d", w.row, i) }

func (w *killedWriter) run(ctx context.Context, tab *bigtable.Table) {
	for i := int64(1); ; i++ {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		err := w.write(ctx, tab, w.key(i))
		cancel()
		if err != nil {
			w.ended.Store(true)
			return // the server has ended
		}
		w.acknowledged.Store(i)
	}
}

func killedWriters() []*killedWriter {
	set := func(row string) *bigtable.Mutation {
		m := bigtable.NewMutation()
		m.Set("f", "n", 1000, []byte(row))
		return m
	}
	apply := func(ctx context.Context, tab *bigtable.Table, row string) error { return tab.Apply(ctx, row, set(row)) }
	bulk := func(ctx context.Context, tab *bigtable.Table, row string) error {
		errs, err := tab.ApplyBulk(ctx, []string{row, row + "+"}, []*bigtable.Mutation{set(row), set(row + "+")})
		return errors.Join(append(errs, err)...)
	}
	modify := func(ctx context.Context, tab *bigtable.Table, row string) error {
		m := bigtable.NewReadModifyWrite()
		m.AppendValue("f", "n", []byte(row))
		m.Increment("f", "count", 1)
		_, err := tab.ApplyReadModifyWrite(ctx, row, m)
		if err == nil {
			_, err = tab.ApplyReadModifyWrite(ctx, "count", m)
		}
		return err
	}
	check := func(ctx context.Context, tab *bigtable.Table, row string) error {
		return tab.Apply(ctx, row, bigtable.NewCondMutation(bigtable.PassAllFilter(), nil, set(row)))
	}
	var all []*killedWriter
	for i := range 2 {
		for name, write := range map[string]func(context.Context, *bigtable.Table, string) error{"apply": apply, "bulk": bulk, "modify": modify, "check": check} {
			all = append(all, &killedWriter{row: fmt.Sprint(name, i), write: write})
		}
	}
	return all
}

// After the server was killed under load, acknowledged writes are in the table and in
// its change stream.
func TestServeLosesNothingWhenKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	s := startServer(t, "--db", dir)
	admin, err := bigtable.NewAdminClient(t.Context(), "local", "local", s.options()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.CreateTableFromConf(t.Context(), &bigtable.TableConf{TableID: "t", ChangeStreamRetention: 24 * time.Hour,
		ColumnFamilies: map[string]bigtable.Family{"f": {GCPolicy: bigtable.NoGcPolicy()}}}); err != nil {
		t.Fatal(err)
	}
	began := time.Now() // the stream has all changes from before now
	writers := killedWriters()
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, w := range writers {
		tab := s.table("t")
		wg.Go(func() { w.run(ctx, tab) })
	}
	for slices.ContainsFunc(writers, func(w *killedWriter) bool { return w.acknowledged.Load() < 10 }) {
		for _, w := range writers {
			if w.ended.Load() {
				t.Fatalf("the writer of %s ended after %d writes", w.row, w.acknowledged.Load())
			}
		}
		time.Sleep(time.Millisecond)
	}
	_ = s.end(syscall.SIGKILL)
	stop() // Bigtable's client would try again for the whole minute
	wg.Wait()

	s = startServer(t, "--db", dir)
	found := map[string]string{}
	var count uint64
	if err := s.table("t").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, item := range row["f"] {
			switch {
			case item.Column == "f:n":
				found[row.Key()] = string(item.Value)
			case row.Key() == "count":
				count = max(count, binary.BigEndian.Uint64(item.Value))
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	changed := s.changedRows(began)
	var counted uint64
	for _, w := range writers {
		n := w.acknowledged.Load()
		for i := int64(1); i <= n; i++ {
			keys := []string{w.key(i)}
			if strings.HasPrefix(w.row, "bulk") {
				keys = append(keys, w.key(i)+"+")
			}
			for _, key := range keys {
				if found[key] != key || changed[key] != 1 {
					t.Errorf("%s was acknowledged; the table has %q for it, its change stream %d changes", key, found[key], changed[key])
				}
			}
		}
		if strings.HasPrefix(w.row, "modify") {
			counted += uint64(n)
		}
	}
	if count < counted || changed["count"] < int(counted) {
		t.Errorf("%d increments were acknowledged; the count is %d, its changes %d", counted, count, changed["count"])
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("a server that is told to stop: %v", err)
	}
}

// changedRows is the number of changes of each row of the table t.
func (s *served) changedRows(since time.Time) map[string]int {
	s.t.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	stream, err := bigtablepb.NewBigtableClient(conn).ReadChangeStream(s.t.Context(), &bigtablepb.ReadChangeStreamRequest{
		TableName: "projects/local/instances/local/tables/t",
		StartFrom: &bigtablepb.ReadChangeStreamRequest_StartTime{StartTime: timestamppb.New(since)},
		EndTime:   timestamppb.Now(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	rows := map[string]int{}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return rows
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if key := m.GetDataChange().GetRowKey(); len(key) > 0 {
			rows[string(key)]++
		}
	}
}

// cbt is Bigtable's own command, a client that knows nothing of smolwc.
func TestCbt(t *testing.T) {
	t.Parallel()
	cbt := installCbt(t)
	dir := filepath.Join(t.TempDir(), "db")
	s := startServer(t, "--db", dir, "--durability", "async")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(cbt, append([]string{"-project", "local", "-instance", "local"}, args...)...)
		// Without a file of credentials, which it does not read, cbt asks gcloud for some: a second each time.
		cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+s.addr, "GOOGLE_APPLICATION_CREDENTIALS=none")
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("cbt %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("createtable", "fleet", "families=meta:maxversions=1,loc", "splits=m")
	run("createfamily", "fleet", "delay")
	run("setgcpolicy", "fleet", "delay", "maxage=10d", "and", "maxversions=2")
	run("set", "fleet", "plane#TF-FIR", "meta:model=757", "loc:dest=OSL")
	run("set", "fleet", "plane#TF-FIA", "meta:model=767")

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ls"}, "fleet"},
		{[]string{"ls", "fleet"}, `delay\s.*versions\(\) > 2`},
		{[]string{"count", "fleet"}, `(?m)^2$`},
		{[]string{"lookup", "fleet", "plane#TF-FIR"}, `(?s)loc:dest.*"OSL".*meta:model.*"757"`},
		{[]string{"read", "fleet", "prefix=plane#", "columns=meta:.*", "count=1"}, `(?s)plane#TF-FIA.*"767"`},
	} {
		if got := run(c.args...); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("cbt %s: got\n%s\nwant %s", strings.Join(c.args, " "), got, c.want)
		}
	}
	run("deleterow", "fleet", "plane#TF-FIA")
	run("deletefamily", "fleet", "loc")
	if err := s.end(syscall.SIGINT); err != nil {
		t.Errorf("a server that is interrupted: %v", err)
	}
	// The shell reads what cbt wrote.
	out, _ := output(t, "--db", dir, "--format", "csv", "-c", "get fleet plane#TF-FIR")
	if !strings.Contains(out, "NzU3") { // 757 in base 64
		t.Errorf("the shell reads\n%s", out)
	}
}

// output is what a run prints.
func output(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	if code := run(args, strings.NewReader(""), &out, &errs, func(string) string { return "" }); code != 0 {
		t.Fatalf("smolwc %s: exit %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String(), errs.String()
}

// installCbt builds cbt once, in the user's cache, which takes minutes: so only with
// $SMOLWC_TEST_BUILDS.
func installCbt(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(cache, "smolwc-test", "cbt@v1.13.0")
	path := filepath.Join(dir, "cbt")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if os.Getenv("SMOLWC_TEST_BUILDS") == "" {
		t.Skip("cbt was not built yet, and $SMOLWC_TEST_BUILDS is not set")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "go", "install", "cloud.google.com/go/bigtable/cmd/cbt@v1.13.0")
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("cbt cannot be installed: %v\n%s", err, out)
	}
	return path
}
