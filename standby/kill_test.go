package standby_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/badnet"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

var (
	kills    = flag.Int("kills", 4, "kill a primary or its standby `N` times")
	killSeed = flag.Uint64("kill-seed", 0, "choose as in an earlier run; 0 is a new `SEED`")
)

// The environment of a child process: what it is, its directory, and an address.
const (
	childEnv = "SMOLWC_STANDBY_CHILD"
	dirEnv   = "SMOLWC_STANDBY_DIR"
	addrEnv  = "SMOLWC_STANDBY_ADDR"
	stepEnv  = "SMOLWC_STANDBY_STEP" // of a promotion, where it waits to be killed
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(childEnv) {
	case "primary":
		err = primaryChild(os.Getenv(dirEnv), os.Getenv(addrEnv))
	case "standby":
		err = standbyChild(os.Getenv(dirEnv), os.Getenv(addrEnv))
	case "strict":
		err = strictChild(os.Getenv(dirEnv), os.Getenv(addrEnv))
	case "follower":
		err = followerChild(os.Getenv(dirEnv), os.Getenv(addrEnv))
	case "promoter":
		err = promoterChild(os.Getenv(dirEnv), os.Getenv(addrEnv))
	default:
		os.Exit(m.Run())
	}
	fmt.Println(err)
	os.Exit(1)
}

// primaryChild serves a database, and writes the same value to a row in two tables, until
// it is killed. Now and then it loads rows, and makes and drops a table.
func primaryChild(dir, addr string) error {
	ctx := context.Background()
	p := standby.NewPrimary(standby.PrimaryOptions{})
	db, err := query.Open(dir, query.Options{Memory: 16 << 20, Standbys: p.Hook(), Schema: schemaOf(table("a", "f"), table("b", "f"))})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	g := grpc.NewServer()
	smolwcpb.RegisterStandbysServer(g, p.Service())
	go func() { _ = g.Serve(l) }()
	fmt.Println("ready")
	for n := rand.N(1_000_000); ; n++ {
		m := write.NewMutation()
		m.Set("f", "q", cells.I64(int64(n)))
		b, row := write.NewBatch(), fmt.Sprint(n%97)
		b.Add("a", row, m)
		b.Add("b", row, m)
		if err := db.Apply(ctx, b); err != nil {
			return err
		}
		if n%50 == 0 {
			if err := loadOne(ctx, db, n); err != nil {
				return err
			}
		}
		if n%60 == 0 {
			if _, err := db.Declare(ctx, schemaOf(table(fmt.Sprint("t", n%3), "f", "g"))); err != nil {
				return err
			}
		}
		if n%60 == 30 {
			if err := db.DropTable(ctx, fmt.Sprint("t", n%3)); err != nil && query.KindOf(err) != query.KindNotFound {
				return err
			}
		}
	}
}

// loadOne loads a row of a table, over existing cells.
func loadOne(ctx context.Context, db *query.DB, n int) error {
	l, err := db.Table("a").BulkLoad(ctx, query.BulkOptions{Overlap: true})
	if err != nil {
		return err
	}
	defer l.Close()
	m := write.NewMutation()
	m.SetAt("f", "loaded", 1, cells.I64(int64(n)))
	if err := l.Apply("loaded", m); err != nil {
		return err
	}
	_, err = l.Commit(ctx)
	return err
}

// standbyChild follows a primary, and checks that a row has the same value in both tables,
// until it is killed.
func standbyChild(dir, addr string) error {
	ctx := context.Background()
	s, err := standby.Open(ctx, dir, standby.Options{Primary: addr, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20}})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		select {
		case <-s.Lost():
			return s.Err()
		default:
		}
		if err := sameInBoth(ctx, s.DB()); err != nil {
			return err
		}
	}
}

// followerChild follows a primary until it is killed.
func followerChild(dir, addr string) error {
	s, err := standby.Open(context.Background(), dir, standby.Options{Primary: addr, Name: filepath.Base(dir), LogBytes: 64 << 20})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-s.Lost()
	return s.Err()
}

// promoterChild promotes a standby, and stops at a step until it is killed.
func promoterChild(dir, addr string) error {
	ctx := context.Background()
	s, err := standby.Open(ctx, dir, standby.Options{Primary: addr, Database: query.Options{Memory: 16 << 20}})
	if err != nil {
		return err
	}
	standby.OnStep(func(name string) {
		if name == os.Getenv(stepEnv) {
			fmt.Println("ready")
			select {}
		}
	})
	_, err = s.Promote(ctx, "127.0.0.1:1", query.DurabilitySync)
	return err
}

func sameInBoth(ctx context.Context, db *query.DB) error {
	row := fmt.Sprint(rand.N(97))
	return db.Update(ctx, func(tx *query.Tx) error {
		a, err := tx.ReadRow(ctx, "a", row)
		if err != nil {
			return err
		}
		b, err := tx.ReadRow(ctx, "b", row)
		if err != nil {
			return err
		}
		x, _ := a.I64("f", "q")
		y, _ := b.I64("f", "q")
		if x != y {
			return fmt.Errorf("row %s has %d in a and %d in b", row, x, y)
		}
		return nil
	})
}

// A child is a process that is killed.
type child struct {
	cmd *exec.Cmd
	out io.ReadCloser
}

func spawn(t *testing.T, what, dir, addr string) *child {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	return spawnAs(t, exec.Command(exe), what, dir, addr)
}

// spawnAs runs a command that runs this program.
func spawnAs(t testing.TB, cmd *exec.Cmd, what, dir, addr string) *child {
	t.Helper()
	c := &child{cmd: cmd}
	c.cmd.Env = append(os.Environ(), childEnv+"="+what, dirEnv+"="+dir, addrEnv+"="+addr)
	var err error
	c.out, err = c.cmd.StdoutPipe()
	if err == nil {
		c.cmd.Stderr = os.Stderr
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(c.out, line); err != nil || string(line) != "ready\n" {
		rest, _ := io.ReadAll(c.out)
		c.kill()
		t.Fatalf("the %s says %q: %v", what, append(line, rest...), err)
	}
	return c
}

// kill ends a process that still runs, and returns what it has said since it began.
func (c *child) kill() (said string) {
	_ = c.cmd.Process.Kill() // it may have ended
	rest, _ := io.ReadAll(c.out)
	_ = c.cmd.Wait() // it was killed
	return string(rest)
}

func TestKilledPrimariesAndStandbys(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	addr := testaddr.New(t)
	dir, copied := filepath.Join(t.TempDir(), "primary"), filepath.Join(t.TempDir(), "standby")
	primary := spawn(t, "primary", dir, addr)
	defer func() { primary.kill() }()
	follower := spawn(t, "standby", copied, addr)
	defer func() { follower.kill() }()
	for range *kills {
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond) // any moment will do
		if r.IntN(2) == 0 {
			if said := primary.kill(); said != "" {
				t.Fatalf("the primary says %s", said)
			}
			primary = spawn(t, "primary", dir, addr)
			continue
		}
		if said := follower.kill(); said != "" {
			t.Fatalf("the standby says %s", said)
		}
		follower = spawn(t, "standby", copied, addr)
	}
	if said := primary.kill() + follower.kill(); said != "" {
		t.Fatal(said)
	}
	p := &node{t: t, dir: dir, addr: addr}
	p.open()
	t.Cleanup(p.close)
	awaitEqual(t, p.db, follow(t, copied, addr))
}

// through is a proxy in front of a primary.
func through(t *testing.T, to string) *badnet.Proxy {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed of the network: %d", seed)
	p, err := badnet.New(to, seed)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// Bytes that change on the way, in each direction, neither garble a row nor have the standby
// rebuilt, nor fence the primary.
func TestAFlippedByteOnTheWay(t *testing.T) {
	for way, name := range map[badnet.Way]string{badnet.Up: "from the standby", badnet.Down: "from the primary"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			n := through(t, p.addr)
			s := follow(t, filepath.Join(t.TempDir(), "standby"), n.Addr())
			awaitEqual(t, p.db, s)
			n.Set(way, badnet.Line{Flip: 20_000})
			if way == badnet.Up { // little is sent
				n.Set(way, badnet.Line{Flip: 400})
			}
			for i := 0; n.Flips() < 8; i++ {
				row := fmt.Sprint(i % 1000)
				set(t, p.db, "a", row, "f", row+fmt.Sprintf("%0500d", i%1000))
				must(t, s.Err())
				if i%100 == 99 { // a length that has changed makes both sides wait
					n.Cut()
					await(t, "the standby does not come back", func() bool { _, there := s.Lag(); return there || n.Flips() >= 8 })
				}
			}
			n.Set(way, badnet.Line{})
			n.Cut()
			awaitEqual(t, p.db, s)
		})
	}
}

// An acknowledgement that has changed on the way acknowledges nothing.
func TestAFlippedAcknowledgement(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Hour})
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr) // from which the primary knows what it ships
	must(t, put(t.Context(), p.db, "r", "v"))
	must(t, s.Close())
	is := describe(t, p)
	conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	stream, err := smolwcpb.NewStandbysClient(conn).Follow(t.Context())
	must(t, err)
	at := is.GetPosition()
	hello := &smolwcpb.Hello{Database: is.GetDatabase(), History: is.GetHistory(), Epoch: &smolwcpb.Epoch{Number: 1}, After: at, Last: at, Latest: at, Format: query.FormatVersion}
	must(t, stream.Send(&smolwcpb.FollowRequest{Hello: hello}))
	_, err = stream.Recv()
	must(t, err)
	ctx, leave := context.WithCancel(t.Context())
	outcome := make(chan error)
	go func() { outcome <- put(ctx, p.db, "r", "w") }()
	await(t, "no write waits", func() bool { return standby.Waiting(p.primary) == 1 })
	must(t, stream.Send(&smolwcpb.FollowRequest{Ack: &smolwcpb.Ack{Applied: at, Synced: at + 1000, Crc: 7}}))
	for err == nil && standby.Waiting(p.primary) == 1 { // a beat comes now and then
		_, err = stream.Recv()
	}
	if standby.Waiting(p.primary) != 1 {
		t.Error("the write was acknowledged")
	}
	leave()
	if err := <-outcome; !errors.Is(err, cf.ErrUnknownOutcome) {
		t.Error(err)
	}
}
