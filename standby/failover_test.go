package standby_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// strictChild serves a database whose writes wait for a standby, and says which rows were
// acknowledged, until it is killed.
func strictChild(dir, addr string) error {
	ctx := context.Background()
	p := standby.NewPrimary(standby.PrimaryOptions{SemiSync: standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Hour}})
	db, err := query.Open(dir, query.Options{Memory: 16 << 20, Standbys: p.Hook()})
	if err != nil {
		return err
	}
	if _, err := db.Declare(standby.Async(ctx), schemaOf(table("a", "f"))); err != nil {
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
	failed := make(chan error)
	for range 4 {
		go func() {
			for {
				row := fmt.Sprint(rand.Uint64())
				if err := put(ctx, db, row, row); err != nil {
					failed <- err
					return
				}
				fmt.Println(row)
			}
		}()
	}
	return <-failed
}

// Primaries whose writes wait for a standby are killed, one after the other, and their
// standby is promoted: it has each write that was acknowledged, by all of them. The
// primary that was killed becomes its standby.
func TestKilledPrimariesLoseNoAcknowledgedWrite(t *testing.T) {
	var dirs, addrs [2]string
	for i := range dirs {
		addrs[i] = testaddr.New(t)
		dirs[i] = filepath.Join(t.TempDir(), fmt.Sprint(i))
	}
	var acknowledged []string
	for round := range *kills {
		leads, follows := round%2, (round+1)%2
		acknowledged = append(acknowledged, lead(t, dirs[leads], addrs[leads], dirs[follows])...)
		tookOver(t, dirs[follows], acknowledged)
		must(t, os.RemoveAll(dirs[follows]+".diverged"))
		must(t, os.RemoveAll(dirs[leads]+".diverged"))
	}
}

// lead runs a primary with a standby until it is killed, and promotes the standby. It
// returns the rows that were acknowledged.
func lead(t *testing.T, dir, addr, copied string) (acknowledged []string) {
	t.Helper()
	primary := spawn(t, "strict", dir, addr)
	defer primary.kill()
	s := follow(t, copied, addr)
	defer s.Close()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for r := bufio.NewReader(primary.out); ; {
			line, err := r.ReadString('\n')
			if err != nil { // a line that was cut off was not acknowledged
				return
			}
			lines <- strings.TrimSpace(line)
		}
	}()
	enough := 20 + rand.IntN(200)
	for said := lines; said != nil; {
		select {
		case <-s.Lost(): // the old primary, with writes of its own
			s = rebuild(t, s, "")
		case line, more := <-said:
			if !more {
				said = nil
				break
			}
			if acknowledged = append(acknowledged, line); len(acknowledged) == enough {
				must(t, primary.cmd.Process.Kill())
			}
		}
	}
	if len(acknowledged) < enough {
		t.Fatalf("the primary has ended by itself after %d writes: %q", len(acknowledged), acknowledged)
	}
	p, err := s.Promote(t.Context(), "127.0.0.1:1", query.DurabilitySync)
	must(t, err)
	defer p.Primary.Service().Stop()
	db, err := query.Open(copied, query.Options{Standbys: p.Primary.Hook()})
	must(t, err)
	must(t, db.Close())
	return acknowledged
}

// tookOver checks the rows of a standby that was promoted.
func tookOver(t *testing.T, dir string, acknowledged []string) {
	t.Helper()
	db, err := query.Open(dir, query.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	for _, row := range acknowledged {
		if got, err := db.Table("a").ReadRow(t.Context(), row); err != nil || got.Text("f", "q") != row {
			t.Fatalf("of %d rows that were acknowledged, %s is %v: %v", len(acknowledged), row, got, err)
		}
	}
}
