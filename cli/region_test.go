package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A regionsRun is smolwc region with the example, at free ports.
type regionsRun struct {
	t        *testing.T
	dir      string // with docs/examples/regions.yaml, and smolwc
	cmd      *exec.Cmd
	errors   bytes.Buffer
	greeting string
}

const exampleRegions = "docs/examples/regions.yaml"

// startRegions starts the regions. Another process may take a port that was free: then
// it tries again.
func startRegions(t *testing.T) *regionsRun {
	t.Helper()
	for range 5 {
		if r := tryRegions(t); r != nil {
			return r
		}
	}
	t.Fatal("the regions do not start")
	return nil
}

func tryRegions(t *testing.T) *regionsRun {
	t.Helper()
	r := newParts(t)
	r.cmd = exec.Command(filepath.Join(r.dir, "smolwc"), "region", "--config", exampleRegions)
	r.cmd.Env, r.cmd.Dir, r.cmd.Stderr = append(os.Environ(), beSmolwc+"=1"), r.dir, &r.errors
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.end(syscall.SIGKILL)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		r.greeting += lines.Text() + "\n"
		if strings.HasSuffix(r.greeting, "Ctrl-C stops the regions.\n") {
			return r
		}
	}
	if err := r.cmd.Wait(); !strings.Contains(r.errors.String(), "address already in use") {
		t.Fatalf("the regions ended with %v\n%s", err, r.errors.String())
	}
	return nil
}

// configure writes the example with free ports.
func (r *regionsRun) configure() {
	r.t.Helper()
	text, err := os.ReadFile("../" + exampleRegions)
	if err != nil {
		r.t.Fatal(err)
	}
	var taken []net.Listener
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllFunc(text, func([]byte) []byte {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.t.Fatal(err)
		}
		taken = append(taken, l)
		return []byte(l.Addr().String())
	})
	for _, l := range taken {
		_ = l.Close()
	}
	path := filepath.Join(r.dir, exampleRegions)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *regionsRun) end(sig syscall.Signal) error {
	_ = r.cmd.Process.Signal(sig)
	return r.cmd.Wait()
}

// sh runs a line of the tour.
func (r *regionsRun) sh(line string) string {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), beSmolwc+"=1", "SMOLWC_REGIONS="+exampleRegions, "PATH="+r.dir+":"+os.Getenv("PATH"))
	out, _ := cmd.CombinedOutput() // an error is in the output
	return string(out)
}

// The page shows the tour and the replies that the command prints. A new token is not valid at once: then the line runs again.
func TestTheTourOfRegions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tour is for a POSIX shell")
	}
	page, err := os.ReadFile("../docs/regions.md")
	if err != nil {
		t.Fatal(err)
	}
	r := startRegions(t)
	steps := 0
	for _, block := range regexp.MustCompile("(?s)```transcript\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, want, _ := strings.Cut(strings.TrimSuffix(step, "\n")+"\n", "\n")
			if !strings.Contains(r.greeting, "  "+line+"\n") {
				t.Errorf("the command does not print the line %s\n%s", line, r.greeting)
			}
			got := r.sh(line)
			for end := time.Now().Add(time.Minute); strings.HasPrefix(got, `"InvalidToken"`) && time.Now().Before(end); {
				got = r.sh(line)
			}
			if got != want {
				t.Errorf("%s\ngot\n%swant\n%s", line, got, want)
			}
			steps++
		}
	}
	if steps < 5 {
		t.Errorf("only %d lines", steps)
	}
	if err := r.end(syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, r.errors.String())
	}
	if got := r.sh("smolwc region call eu-west-2 '\"x\"'; echo code $?"); !strings.Contains(got, "cannot be reached") || !strings.HasSuffix(got, "code 1\n") {
		t.Errorf("a call of regions that have stopped: %s", got)
	}
}

// An error of a call is the exit code, and so is one of opening.
func TestRegionExitCodes(t *testing.T) {
	r := startRegions(t)
	for line, want := range map[string]string{
		`smolwc region call control '{"Login":{"token":"x"}}'`:               "{\"InvalidRequest\":{\"reason\":\"the control does not take Login\"}}\ncode 1\n",
		`smolwc region call eu-west-2 '{"token'`:                             "smolwc: \"{\\\"token\" is not JSON\ncode 1\n",
		`smolwc region --config docs/examples/regions.yaml 2>/dev/null`:      "code 1\n", // the ports are in use
		`smolwc region --config none.yaml 2>/dev/null`:                       "code 2\n",
		`smolwc region --config docs/examples/regions.yaml --http 0.0.0.0:0`: "smolwc: --http is 0.0.0.0:0, which other machines can reach; give tls, or insecure: true, in the configuration\ncode 2\n",
	} {
		if got := r.sh(line + "; echo code $?"); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
	_ = r.end(syscall.SIGTERM)
	other := filepath.Join(r.dir, "regions", "control", "CURRENT")
	if err := os.WriteFile(other, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.sh("smolwc region --config docs/examples/regions.yaml; echo code $?"); !strings.Contains(got, "opening a database") || !strings.HasSuffix(got, "code 3\n") {
		t.Errorf("with a damaged database: %s", got)
	}
}

// A part is a process with some of the regions.
type part struct {
	t        *testing.T
	cmd      *exec.Cmd
	greeting string
	pages    string // the address of its pages
}

// part starts a process with some roles, and waits until it serves.
func (r *regionsRun) part(args ...string) *part {
	r.t.Helper()
	p := &part{t: r.t, cmd: exec.Command(filepath.Join(r.dir, "smolwc"), append([]string{"region", "--config", exampleRegions, "--http", "127.0.0.1:0"}, args...)...)}
	var errors bytes.Buffer
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr = append(os.Environ(), beSmolwc+"=1"), r.dir, &errors
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.greeting += lines.Text() + "\n"
		if url, ok := strings.CutPrefix(lines.Text(), "metrics on "); ok {
			p.pages = strings.TrimSuffix(url, "/metrics")
			return p
		}
	}
	r.t.Fatalf("%q ended with %v: %s", args, p.cmd.Wait(), errors.String())
	return nil
}

func (p *part) end(sig syscall.Signal) {
	p.t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(sig) // it may have ended
	if err := p.cmd.Wait(); err != nil && sig != syscall.SIGKILL {
		p.t.Errorf("a process ends with %v", err)
	}
}

// says waits until a page has a text.
func (p *part) says(path, want string) {
	p.t.Helper()
	var got string
	for began := time.Now(); !strings.Contains(got, want); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			p.t.Fatalf("%s does not come to %q:\n%s", path, want, got)
		}
		got = page(p.t, p.pages+path)
	}
}

// newParts is a configuration at free ports, without processes.
func newParts(t *testing.T) *regionsRun {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &regionsRun{t: t, dir: t.TempDir()}
	if err := os.Symlink(self, filepath.Join(r.dir, "smolwc")); err != nil {
		t.Fatal(err)
	}
	r.configure()
	return r
}

// addresses are the addresses of the configuration, by their lines: control, then
// front and address of each region.
func (r *regionsRun) addresses() []string {
	text, err := os.ReadFile(filepath.Join(r.dir, exampleRegions))
	if err != nil {
		r.t.Fatal(err)
	}
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(string(text), -1)
}

// A process of one region serves this one, and says so. It has metrics.
func TestAProcessServesItsRegion(t *testing.T) {
	r := newParts(t)
	control := r.part("--role", "control,replicator")
	if first, _, _ := strings.Cut(control.greeting, "\n"); first != "serving the control, the replicator" {
		t.Errorf("the control says %q", control.greeting)
	}
	us := r.part("--role", "front,region", "--region", "us-east-2")
	first, _, _ := strings.Cut(us.greeting, "\n")
	if first != "serving the regions us-east-2 (front, region)" || strings.Contains(us.greeting, "eu-west-2") || strings.Contains(us.greeting, "tour") {
		t.Errorf("the region says %q", us.greeting)
	}
	all := r.addresses() // control, eu, us, ap
	for i, addr := range all {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		if served := i == 0 || i == 3 || i == 4; served != (err == nil) {
			t.Errorf("address %d of %v: served %v", i, all, err == nil)
		}
	}
	control.says("/readyz", "ok")
	us.says("/readyz", "ok")
	us.says("/healthz", "ok")
	r.sh(`smolwc region call control '{"AddGlobalTenant":{"tenant_id":"acme","token":"demo"}}'`)
	for began := time.Now(); !strings.Contains(r.sh(`smolwc region call us-east-2 '{"Login":{"token":"demo"}}'`), "LoggedIn"); {
		if time.Since(began) > time.Minute {
			t.Fatal("the token does not arrive")
		}
	}
	us.says("/metrics", `smolwc_region_ready{region="us-east-2"} 1`)
	us.says("/metrics", `smolwc_region_requests_total{region="us-east-2",reply="LoggedIn",request="Login",role="front"} 1`)
	us.says("/metrics", `smolwc_region_requests_total{region="us-east-2",reply="LocalTenantAdded",request="AddLocalTenant",role="region"} 1`)
	us.says("/metrics", `smolwc_region_link_connected{to="the control"} 1`)
	control.says("/metrics", `smolwc_region_requests_total{region="",reply="GlobalTenantAdded",request="AddGlobalTenant",role="control"} 1`)
	control.says("/metrics", `smolwc_queue_items{state="ready",type="token",zone="eu-west-2"}`) // it is down
	if text := page(t, us.pages+"/metrics"); strings.Contains(text, `region="eu-west-2"`) {
		t.Error("the metrics speak of another region")
	}
	us.end(syscall.SIGTERM)
	control.end(syscall.SIGTERM)
}

// A region whose disk is empty gets all facts by itself, also when the control has brought
// them to it before. Until then it is not ready, and calls no token invalid.
func TestARegionOnAnEmptyDisk(t *testing.T) {
	r := newParts(t)
	login := `smolwc region call eu-west-2 '{"Login":{"token":"demo"}}'`
	alone := []string{"--role", "front,region", "--region", "eu-west-2"}
	control := r.part("--role", "control") // no replicator brings facts
	facts := `smolwc region call control '{"AddGlobalTenant":{"tenant_id":"acme","token":"demo"}}'`
	for i := range 40 { // more than a page
		facts += fmt.Sprintf(` '{"AddShardToGlobalRouting":{"tenant_id":"acme","shard_name":"s%d","region":"ap-south-1"}}'`, i)
	}
	if got := r.sh(facts); strings.Count(got, "Added") != 41 {
		t.Fatalf("facts: %s", got)
	}
	control.end(syscall.SIGTERM)

	for _, disk := range []string{"new", "lost"} {
		eu := r.part(alone...)
		eu.says("/readyz", "region eu-west-2 does not have all facts yet")
		eu.says("/metrics", `smolwc_region_ready{region="eu-west-2"} 0`)
		if got := r.sh(login); !strings.Contains(got, "PleaseRetry") || !strings.Contains(got, "does not have all facts yet") {
			t.Errorf("a login at a region with a %s disk: %s", disk, got)
		}
		control = r.part("--role", "control")
		eu.says("/readyz", "ok")
		eu.says("/metrics", `smolwc_region_ready{region="eu-west-2"} 1`)
		if got := r.sh(login); !strings.Contains(got, "LoggedIn") {
			t.Errorf("a login at a region with all facts: %s", got)
		}
		if got := r.sh(`smolwc region call eu-west-2 '{"Login":{"token":"other"}}'`); !strings.Contains(got, "InvalidToken") {
			t.Errorf("a login without a tenant: %s", got)
		}
		control.end(syscall.SIGTERM)
		for i := range 40 {
			where := fmt.Sprintf(`smolwc region call --direct eu-west-2 '{"GetShardRegion":{"tenant_id":"acme","shard_name":"s%d"}}'`, i)
			if i%13 == 0 && !strings.Contains(r.sh(where), "ap-south-1") {
				t.Errorf("the region does not know shard %d", i)
			}
		}
		eu.end(syscall.SIGTERM)
		eu = r.part(alone...)
		eu.says("/readyz", "ok") // it has them still, without the control
		eu.end(syscall.SIGTERM)
		if err := os.RemoveAll(filepath.Join(r.dir, "regions", "eu-west-2")); err != nil {
			t.Fatal(err)
		}
	}
}
