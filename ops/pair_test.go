package ops_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cli"
	"github.com/smolwc/smolwc/internal/alerttest"
	"github.com/smolwc/smolwc/internal/badnet"
	"github.com/smolwc/smolwc/internal/testaddr"
)

// beSmolwc makes a process of the test the command itself.
const beSmolwc = "SMOLWC_BE_SMOLWC"

func TestMain(m *testing.M) {
	if os.Getenv(beSmolwc) != "" {
		os.Exit(cli.Main(nil))
	}
	os.Exit(m.Run())
}

// A process is a server or a router, which can be ended and started again.
type process struct {
	t           *testing.T
	addr, pages string
	args        []string
	cmd         *exec.Cmd // nil while it is down
	log         string    // the file with what it says
}

func newProcess(t *testing.T, command string, args ...string) *process {
	p := &process{t: t, addr: testaddr.New(t), pages: testaddr.New(t), log: filepath.Join(t.TempDir(), command+".log")}
	p.args = append([]string{command, "--addr", p.addr, "--http", p.pages}, args...)
	t.Cleanup(func() {
		p.end(syscall.SIGKILL)
		if text, _ := os.ReadFile(p.log); t.Failed() {
			t.Logf("%s has said:\n%s", strings.Join(p.args, " "), text[max(0, len(text)-3000):])
		}
	})
	p.start()
	return p
}

func (p *process) start(more ...string) {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(os.Args[0], append(p.args, more...)...)
	p.cmd.Env = append(os.Environ(), beSmolwc+"=1")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.says("smolwc_")
}

func (p *process) end(sig syscall.Signal) {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig) // it may have ended
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// says waits until the metrics have a line with this beginning.
func (p *process) says(begin string) {
	p.t.Helper()
	var text string
	for began := time.Now(); !strings.Contains(text, "\n"+begin); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			p.t.Fatalf("after five minutes the metrics of %s do not have %q", p.args, begin)
		}
		text, _ = alerttest.Scrape(p.pages)
	}
}

// is waits until a metric without labels has a value that is right.
func (p *process) is(metric string, right func(float64) bool) {
	p.t.Helper()
	line := regexp.MustCompile(`(?m)^` + metric + ` (.*)$`)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		text, _ := alerttest.Scrape(p.pages)
		if m := line.FindStringSubmatch(text); m != nil {
			if v, err := strconv.ParseFloat(m[1], 64); err == nil && right(v) {
				return
			}
		}
		if time.Since(began) > 5*time.Minute {
			p.t.Fatalf("after five minutes %s of %s is not right", metric, p.args)
		}
	}
}

// A pair is a primary, a standby that reaches it over a network that fails, and a router.
type pair struct {
	t                        *testing.T
	dir                      string
	primary, standby, router *process
	link                     *badnet.Proxy
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, dir: t.TempDir()}
	p.primary = newProcess(t, "serve", "--db", filepath.Join(p.dir, "p"), "--history", "off", "--memory", "16MiB", "--backup", filepath.Join(p.dir, "archive"), "--continuous", "--semi-sync", "degrade", "--semi-sync-timeout", "100ms")
	var err error
	if p.link, err = badnet.New(p.primary.addr, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.link.Close() })
	p.standby = newProcess(t, "serve", "--db", filepath.Join(p.dir, "s"), "--history", "off", "--memory", "16MiB", "--standby-of", p.link.Addr(), "--standby-name", "second")
	file := filepath.Join(p.dir, "map.json")
	text := fmt.Sprintf(`{"local": {"num_shards": 1, %q: ["00000:M"], %q: ["00000:S"]}}`, p.primary.addr, p.standby.addr)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.router = newProcess(t, "route", "--map", file)
	p.smolwc("--addr", p.primary.addr, "-c", "create table fleet family meta")
	p.together()
	return p
}

// together waits until all is well.
func (p *pair) together() {
	p.t.Helper()
	p.standby.says("smolwc_standby_connected 1\n")
	p.primary.says("smolwc_replicas 1\n")
	p.primary.says("smolwc_semi_sync_degraded 0\n")
	p.router.says("smolwc_route_leaderless_instances 0\n")
}

// smolwc runs the command, which has to succeed.
func (p *pair) smolwc(args ...string) {
	p.t.Helper()
	if out, err := p.try(args...); err != nil {
		p.t.Fatalf("%.200q: %v\n%s", args, err, out)
	}
}

func (p *pair) try(args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), beSmolwc+"=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *pair) put(key, value string) {
	p.t.Helper()
	p.smolwc("--addr", p.primary.addr, "-c", "put fleet "+key+" meta:model="+value)
}

// Each fault of a pair that runs fires its alerts, and no others.
func TestAlertsFireByTheirCauses(t *testing.T) {
	if testing.Short() {
		t.Skip("a standby has to be half a minute behind")
	}
	p := newPair(t)
	alerts := alerttest.New(t, rulesFile, map[string]string{"primary": p.primary.pages, "standby": p.standby.pages, "router": p.router.pages})
	hold := func(why string, want ...string) { t.Helper(); t.Log(why); alerts.Hold(10, want...) }
	hold("all is well")

	p.standby.end(syscall.SIGKILL)
	p.primary.says("smolwc_replicas 0\n")
	p.put("plane#2", "747")
	p.primary.says("smolwc_semi_sync_degraded 1\n")
	hold("the standby is killed", "SmolwcDown", "SmolwcNoStandby", "SmolwcSemiSyncDegraded")
	p.standby.start()
	p.together()
	hold("the standby is back")

	p.link.Set(badnet.Up, badnet.Line{Hold: true})
	p.link.Set(badnet.Down, badnet.Line{Hold: true})
	p.standby.says("smolwc_standby_connected 0\n")
	p.primary.says("smolwc_replicas 0\n")
	p.put("plane#3", "757")
	p.primary.says("smolwc_semi_sync_degraded 1\n")
	hold("the network is cut", "SmolwcNoStandby", "SmolwcSemiSyncDegraded", "SmolwcStandbyNotConnected")
	p.heal()
	p.together()

	p.link.Set(badnet.Down, badnet.Line{Rate: 60_000}) // a message of 256 KiB in less than 10 s
	args := []string{"--addr", p.primary.addr}
	for range 15 {
		args = append(args, "-c", "put fleet plane#4 meta:model="+strings.Repeat("A380", 24_000))
	}
	for range 4 {
		p.smolwc(args...)
	}
	p.standby.is("smolwc_standby_lag_seconds", func(v float64) bool { return v > 30 })
	p.standby.says("smolwc_standby_connected 1\n")
	hold("the network is slow", "SmolwcSemiSyncDegraded", "SmolwcStandbyLag")
	p.heal()
	p.together()
	p.standby.is("smolwc_standby_lag_seconds", func(v float64) bool { return v < 30 })
	hold("the network is fast")

	// The memory of the standby has changed a row, which is in the log that it begins when it
	// starts.
	p.standby.end(syscall.SIGTERM)
	p.standby.start()
	p.together()
	p.put("plane#1", "737")
	for range 5 { // more than what the standby shows of its log when it connects
		p.put("plane#5", strings.Repeat("A320", 20<<10)+"@2026-01-02T03:04:05Z")
	}
	p.smolwc("verify", "--addr", p.standby.addr, "--against", p.link.Addr())
	p.standby.end(syscall.SIGTERM)
	forge(t, filepath.Join(p.dir, "s"), "plane#1", "plane#0")
	p.standby.start()
	p.together()
	if out, err := p.try("verify", "--addr", p.standby.addr, "--against", p.link.Addr()); err == nil {
		t.Fatalf("verify finds no difference: %s", out)
	}
	p.standby.says("smolwc_standby_verify_differences_total 1\n")
	p.together()
	hold("the standby differed", "SmolwcFilesKeptAside", "SmolwcStandbyDiffers", "SmolwcStandbyRebuilt")

	if err := os.RemoveAll(filepath.Join(p.dir, "s.diverged")); err != nil {
		t.Fatal(err)
	}
	p.standby.says("smolwc_diverged_directories 0\n")
	t.Log("an hour later")
	alerts.Hold(70)

	// The standby is promoted while it cannot reach the primary.
	p.link.Set(badnet.Up, badnet.Line{Hold: true})
	p.link.Set(badnet.Down, badnet.Line{Hold: true})
	p.standby.says("smolwc_standby_connected 0\n")
	p.smolwc("promote", "--addr", p.standby.addr)
	p.standby.says("smolwc_untold_primaries 1\n")
	p.primary.says("smolwc_replicas 0\n")
	p.put("plane#6", "767")
	p.primary.says("smolwc_semi_sync_degraded 1\n")
	hold("there are two primaries", "SmolwcNoStandby", "SmolwcOldPrimaryNotFenced", "SmolwcSemiSyncDegraded")
	p.heal()
	p.primary.says("smolwc_fenced 1\n")
	p.standby.says("smolwc_untold_primaries 0\n")
	hold("the old one is fenced", "SmolwcFenced", "SmolwcNoStandby")
	p.standby.end(syscall.SIGKILL)
	p.router.says("smolwc_route_leaderless_instances 1\n")
	hold("the new one is gone", "SmolwcDown", "SmolwcFenced", "SmolwcNoLeader")

	if err := os.WriteFile(filepath.Join(p.dir, "map.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.router.says("smolwc_route_map_invalid 1\n")
	hold("the map is not valid", "SmolwcDown", "SmolwcFenced", "SmolwcMapInvalid", "SmolwcNoLeader")
	alerts.Check()
}

func (p *pair) heal() {
	p.link.Set(badnet.Up, badnet.Line{})
	p.link.Set(badnet.Down, badnet.Line{})
}

// forge replaces a text of the first block of a closed database's log, with a checksum that
// fits.
func forge(t *testing.T, dir, text, with string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, path := range logs {
		log := read(t, path)
		for at := 0; at+7 < len(log); {
			end := at + 7 + int(binary.LittleEndian.Uint16(log[at+4:]))
			record := log[at+6 : min(end, len(log))] // its kind and its bytes
			if i := strings.Index(string(record), text); i >= 0 {
				copy(record[i:], with)
				sum := crc32.Checksum(record, crc32.MakeTable(crc32.Castagnoli))
				binary.LittleEndian.PutUint32(log[at:], (sum>>15|sum<<17)+0xa282ead8)
				if err := os.WriteFile(path, log, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			at = end
		}
	}
	t.Fatalf("%q is not in the log", text)
}
