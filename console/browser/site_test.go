package browser

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A site is smolwc serve, as a process, with the flights in it.
type site struct {
	t    testing.TB
	url  string
	bin  string
	addr string
	db   string
	stop func() // the server, and waits for its end
	kill func() // as a fault of the machine does
}

// newSite builds smolwc, loads the flights and serves them until the test ends.
func newSite(t testing.TB) *site {
	t.Helper()
	dir := t.TempDir()
	at := &site{t: t, bin: filepath.Join(dir, "smolwc")}
	at.command("sh", "-c", `cd ../.. && scripts/go build -o "$0" ./cmd/smolwc`, at.bin)
	at.db = filepath.Join(dir, "db")
	at.command(at.bin, "--db", at.db, "-c", "create table fleet family meta versions=3, family loc type=string, family time type=i32, family delay type=i32")
	at.load(at.db, dir)
	at.serve("127.0.0.1:0", "127.0.0.1:0")
	t.Cleanup(func() { at.stop() })
	return at
}

// serve starts the server, which stop ends.
func (at *site) serve(addr, http string) {
	t := at.t
	t.Helper()
	cmd := exec.Command(at.bin, "serve", "--db", at.db, "--addr", addr, "--http", http, "--backup", filepath.Join(filepath.Dir(at.db), "backups"), "--continuous")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	at.stop = func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself, which Wait tells
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	at.kill = func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			at.addr = addr[strings.LastIndex(addr, " ")+1:]
		}
		if url, ok := strings.CutPrefix(lines.Text(), "console on "); ok {
			at.url = strings.TrimSuffix(url, "/")
		}
		if strings.HasPrefix(lines.Text(), "export ") && at.url != "" {
			return
		}
	}
	t.Fatal("the server does not say where it is")
}

func (at *site) command(name string, args ...string) {
	at.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		at.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// load imports the flights out of Seattle and Portland in 2014 (pnwflights14, CC0), which
// are not part of the project, or as many rows that look like them.
func (at *site) load(db, dir string) {
	data, _ := filepath.Abs(cmp.Or(os.Getenv("SMOLWC_FLIGHTS"), "../../../shared/data/pnwflights14"))
	flights := filepath.Join(data, "flights.csv.gz")
	if _, err := os.Stat(flights); err != nil {
		flights = filepath.Join(dir, "flights.csv")
		var text strings.Builder
		text.WriteString("year,month,day,dep_time,dep_delay,arr_time,arr_delay,carrier,tailnum,flight,origin,dest,air_time,distance\n")
		for i := range 160_000 {
			fmt.Fprintf(&text, "2014,%d,%d,%d,%d,%d,%d,AS,N%03dAG,%d,PDX,ANC,%d,1542\n", 1+i%12, 1+i/12%28, i%2400, i%50-9, (i+300)%2400, i%70-20, i%700, i, 100+i%100)
		}
		if err := os.WriteFile(flights, []byte(text.String()), 0o600); err != nil {
			at.t.Fatal(err)
		}
	}
	at.command(at.bin, "--db", db, "-c", "import fleet from '"+flights+"' na=NA key='flight#{tailnum}#{year}-{month:02}-{day:02}#{carrier}{flight}#{origin}-{dest}' columns=loc:origin=origin,loc:dest=dest,time:dep=dep_time,time:arr=arr_time,time:air=air_time,delay:dep=dep_delay,delay:arr=arr_delay,meta:distance=distance:i32")
	for i, model := range []string{"Boeing 737-890", "Boeing 737-900ER", "Boeing 737-990ER"} {
		at.command(at.bin, "--db", db, "-c", fmt.Sprintf("put fleet plane#N223AG meta:model=%q@%d meta:seats=%d", model, 1_388_534_400_000_000+int64(i)*100*86400*1_000_000, 149+i))
	}
}

// metric is the sum of a metric whose name and labels match a pattern.
func (at *site) metric(pattern string) (sum float64) {
	at.t.Helper()
	resp, err := http.Get(at.url + "/metrics")
	if err != nil {
		at.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		at.t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^`+pattern+` (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.ParseFloat(line[len(line)-1], 64)
		sum += n
	}
	return sum
}

// until waits for a condition, as long as the test may take.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("it never came: %s", what)
		}
	}
}
