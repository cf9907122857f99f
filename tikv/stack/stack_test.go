//go:build unix

package stack_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/anishathalye/porcupine"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/tikv/cftikv"
	"github.com/smolwc/smolwc/tikv/stack"
)

var onStack = flag.Bool("stack", false, "build PD and a store, and test on them")

// binaries is the folder of the binaries, which are built once.
var binaries = sync.OnceValues(func() (string, error) {
	bin, err := filepath.Abs("../../bin/tikv")
	if err != nil {
		return "", err
	}
	if err := stack.Build(context.Background(), "..", bin); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "smolwc"), "../cmd/smolwc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// start starts a stack of the test's own.
func start(t *testing.T) (s *stack.Stack, bin string) {
	t.Helper()
	if !*onStack {
		t.Skip("it takes -stack")
	}
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = stack.Start(t.Context(), bin, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s, bin
}

func open(t *testing.T, url string) *cftikv.Store {
	t.Helper()
	s, err := cftikv.OpenURL(t.Context(), url, cftikv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// PD says how large families are, and a PD that is gone is an error.
func TestStatsHaveTheSizesOfPD(t *testing.T) {
	stack, _ := start(t)
	s := open(t, stack.URL("sizes"))
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	for {
		stats, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := stats.Families["f"]; f.Bytes() > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond) // the region has not told PD yet
	}
	if err := stack.KillPD(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stats(t.Context()); !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("without PD: %v", err)
	}
}

// The store conforms on real PD and a store in another process. TestConforms/Model fails
// there: in unistore a backward scan of an old snapshot does not show a key that was
// deleted later. client-go's own IterReverse shows the same; the mock has no such fault.
func TestConforms(t *testing.T) {
	s, _ := start(t)
	n := 0
	cftest.Run(t, func(t *testing.T) cftest.Harness {
		n++
		url := s.URL(fmt.Sprintf("conforms-%d", n))
		return cftest.Harness{
			Store:  open(t, url),
			Reopen: func(cf.Store) cf.Store { return open(t, url) },
		}
	})
}

// Two processes are one database, while the store and PD are killed and started again.
func TestLinearizabilityThroughKills(t *testing.T) {
	s, _ := start(t)
	var dbs []*query.DB
	for i := range 2 {
		o := query.Options{}
		if i == 0 {
			o.Schema = querytest.LinearSchema()
		}
		db, err := query.OpenStore(t.Context(), open(t, s.URL("linear")), o)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		dbs = append(dbs, db)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() { stopped <- disturb(t.Context(), s, stop) }()
	history := calls(t, dbs)
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	querytest.CheckLinear(t, history)
}

// calls has clients call the databases at once. A call that fails as unavailable has not
// happened. One with an unknown outcome may have happened, until the end of the history.
func calls(t *testing.T, dbs []*query.DB) []porcupine.Operation {
	const clients, each = 6, 80
	start := time.Now()
	histories, unavailable := make([][]porcupine.Operation, clients), atomic.Int64{}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 7))
			for range each {
				op := porcupine.Operation{ClientId: c, Input: querytest.DrawCall(rng, 2), Call: int64(time.Since(start))}
				out, err := op.Input.(querytest.Call).Do(t.Context(), dbs[c%len(dbs)])
				op.Output, op.Return = out, int64(time.Since(start))
				switch {
				case query.KindOf(err) == query.KindUnknownOutcome:
					op.Output, op.Return = querytest.Answer{Pending: true}, int64(time.Hour)
				case query.KindOf(err) == query.KindUnavailable:
					unavailable.Add(1)
					continue
				case err != nil:
					t.Error(err)
					return
				}
				histories[c] = append(histories[c], op)
			}
		})
	}
	wg.Wait()
	history := slices.Concat(histories...)
	pending := 0
	for _, op := range history {
		if op.Output.(querytest.Answer).Pending {
			pending++
		}
	}
	t.Logf("%d calls, %d of unknown outcome; %d more were unavailable", len(history), pending, unavailable.Load())
	return history
}

// disturb kills the store and PD in turns, and starts them again, at least once each.
func disturb(ctx context.Context, s *stack.Stack, stop <-chan struct{}) error {
	for n := 0; ; n++ {
		if err := kill(ctx, s, n%2 == 0); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func kill(ctx context.Context, s *stack.Stack, store bool) error {
	if store {
		if err := s.KillStore(); err != nil {
			return err
		}
		return s.StartStore(ctx)
	}
	if err := s.KillPD(); err != nil {
		return err
	}
	return s.StartPD(ctx)
}

// A server is smolwc serve as a process.
type server struct {
	cmd    *exec.Cmd
	client *bigtable.Client
	admin  *bigtable.AdminClient
}

func serve(t *testing.T, bin, url string) *server {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "smolwc"), "serve", "--db", url, "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Stderr = t.TempDir(), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimSpace(line[strings.LastIndex(line, " ")+1:])
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd}
	if s.client, err = bigtable.NewClient(t.Context(), "p", "i", option.WithGRPCConn(conn)); err != nil {
		t.Fatal(err)
	}
	if s.admin, err = bigtable.NewAdminClient(t.Context(), "p", "i", option.WithGRPCConn(conn)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) put(ctx context.Context, row string) error {
	m := bigtable.NewMutation()
	m.Set("f", "q", bigtable.ServerTime, []byte(row))
	return s.client.Open("t").Apply(ctx, row, m)
}

func (s *server) has(ctx context.Context, row string) error {
	r, err := s.client.Open("t").ReadRow(ctx, row)
	if err == nil && (len(r["f"]) != 1 || string(r["f"][0].Value) != row) {
		err = fmt.Errorf("row %s has %v", row, r)
	}
	return err
}

// Two servers are one database: a client of one reads at once what another wrote through
// the other, and a table of one is a table of the other. What a server acknowledged
// survives its kill -9.
func TestTwoServers(t *testing.T) {
	s, bin := start(t)
	url, ctx := s.URL("served"), t.Context()
	a, b := serve(t, bin, url), serve(t, bin, url)
	if err := a.admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "t", ColumnFamilies: map[string]bigtable.Family{"f": {}}}); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		row := fmt.Sprintf("row-%d", i)
		if err := a.put(ctx, row); err != nil {
			t.Fatal(err)
		}
		if err := b.has(ctx, row); err != nil {
			t.Fatal(err)
		}
		a, b = b, a
	}
	written, writing := make(chan string, 1000), make(chan struct{})
	go func() {
		defer close(writing)
		for i := 0; ; i++ {
			row := fmt.Sprintf("last-%d", i)
			bounded, cancel := context.WithTimeout(ctx, time.Minute)
			err := a.put(bounded, row)
			cancel()
			if err != nil {
				return
			}
			select {
			case written <- row:
			default:
				return
			}
		}
	}()
	for range 20 { // acknowledged writes before the kill
		if err := b.has(ctx, <-written); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-writing
	close(written)
	c := serve(t, bin, url)
	for row := range written {
		for _, s := range []*server{b, c} {
			if err := s.has(ctx, row); err != nil {
				t.Error(err)
			}
		}
	}
}
