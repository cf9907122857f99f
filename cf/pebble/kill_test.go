package pebble_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

// Variables that make the test binary another process.
const (
	killChild   = "SMOLWC_TEST_PEBBLE_KILL_CHILD"   // it writes; the value is the directory and whether writes are synced
	followChild = "SMOLWC_TEST_PEBBLE_FOLLOW_CHILD" // it reads beside a writer; the value is the directory
)

func TestMain(m *testing.M) {
	if args := strings.Fields(os.Getenv(killChild)); len(args) == 2 {
		fmt.Println("fail", writeUntilKilled(args[0], args[1] == "async"))
		os.Exit(1)
	}
	if dir := os.Getenv(followChild); dir != "" {
		if err := followOrders(dir); err != nil {
			fmt.Println("fail", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Each history of the model opens a database; -rapid.checks makes more of them.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const killedWriters = 3

// writeUntilKilled writes rows with a cell in each of two families, and loads some. It
// prints the number of each row that is acknowledged.
func writeUntilKilled(dir string, async bool) error {
	s, err := pebble.Open(dir, pebble.Options{Memory: 8 << 20, Async: async})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := s.CreateFamily(ctx, "t/a", "t/b"); err != nil {
		return err
	}
	failed := make(chan error, killedWriters)
	for w := range killedWriters {
		go func() {
			for n := 0; ; n++ {
				i := n*killedWriters + w
				if err := killedWrite(ctx, s, i); err != nil {
					failed <- err
					return
				}
				fmt.Println(i)
			}
		}()
	}
	return <-failed
}

func killedWrite(ctx context.Context, s *pebble.Store, i int) error {
	row := fmt.Sprintf("r%06d", i)
	switch i % 40 {
	case 13:
		if err := s.Flush(ctx, "t/a"); err != nil {
			return err
		}
	case 27:
		return errors.Join(cftest.LoadCell(ctx, s, "t/a", row, "q", "v"), cftest.LoadCell(ctx, s, "t/b", row, "q", "v"))
	}
	_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: row})
		b.Put("t/a", "q", 1, []byte(strings.Repeat("v", 1000)))
		b.Put("t/b", "q", 1, []byte("v"))
		return nil
	})
	return err
}

// A process that writes is killed. What it acknowledged is there, in all families, whether
// its writes were synced or given to the operating system.
func TestKilledWriter(t *testing.T) {
	rounds := []int{1, 60, 700}
	if testing.Short() {
		rounds = rounds[:2]
	}
	for _, mode := range []string{"sync", "async"} {
		t.Run(mode, func(t *testing.T) {
			for _, after := range rounds {
				dir := t.TempDir()
				acked := killAfter(t, dir, mode, after)
				s, err := pebble.Open(dir, pebble.Options{Memory: 8 << 20})
				if err != nil {
					t.Fatalf("after %d acknowledgements: %v", len(acked), err)
				}
				a, b := rows(t, s, "t/a"), rows(t, s, "t/b")
				for _, i := range acked {
					if !a[i] || !b[i] {
						t.Errorf("row %d was acknowledged; there it is %t and %t, after %d acknowledgements", i, a[i], b[i], len(acked))
					}
				}
				if err := errors.Join(putRow(t.Context(), s, 0), s.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// killAfter kills a writer after some acknowledgements, and returns all of them.
func killAfter(t *testing.T, dir, mode string, after int) (acked []int) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), killChild+"="+dir+" "+mode)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceValue(c.Process.Kill)
	defer func() {
		_ = kill()
		_ = c.Wait()
	}()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		i, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the writer says %q", lines.Text())
		}
		if acked = append(acked, i); len(acked) == after {
			if err := kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(acked) < after {
		t.Fatalf("the writer ended after %d acknowledgements", len(acked))
	}
	return acked
}
