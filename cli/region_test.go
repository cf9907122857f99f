//go:build cgo

package cli

import (
	"bufio"
	"bytes"
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &regionsRun{t: t, dir: t.TempDir()}
	if err := os.Symlink(self, filepath.Join(r.dir, "smolwc")); err != nil {
		t.Fatal(err)
	}
	r.configure()
	r.cmd = exec.Command(self, "region", "--config", exampleRegions)
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

// The tour on the page is the one that the command prints, and its replies are those of
// the page. A new token is not valid at once: then the line runs again.
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
		`smolwc region call control '{"Login":{"token":"x"}}'`:          "{\"InvalidRequest\":{\"reason\":\"the control does not take Login\"}}\ncode 1\n",
		`smolwc region call eu-west-2 '{"token'`:                        "smolwc: \"{\\\"token\" is not JSON\ncode 1\n",
		`smolwc region --config docs/examples/regions.yaml 2>/dev/null`: "code 1\n", // the ports are in use
		`smolwc region --config none.yaml 2>/dev/null`:                  "code 2\n",
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
