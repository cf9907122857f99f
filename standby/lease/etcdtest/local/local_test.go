package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/internal/alerttest"
	"github.com/smolwc/smolwc/internal/testaddr"
)

func TestMain(m *testing.M) {
	be()
	os.Exit(m.Run())
}

const manifests = "../../../../ops/kubernetes.yaml"

// A running is a pod whose process the test starts and ends.
type running struct {
	*pod
	t   *testing.T
	cmd *exec.Cmd // nil while it is down
}

// startPods starts what the manifests describe, with addresses that stay, and ends it with
// the test.
func startPods(t *testing.T) map[string]*running {
	t.Helper()
	text, err := os.ReadFile(manifests)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := podsOf(text, t.TempDir(), func() string { return testaddr.New(t) })
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*running{}
	for _, p := range pods {
		all[p.name] = &running{pod: p, t: t}
		all[p.name].start()
	}
	t.Cleanup(func() {
		for _, r := range all {
			r.end(syscall.SIGKILL)
			if text, _ := os.ReadFile(r.log); t.Failed() {
				t.Logf("%s has said:\n%s", r.name, text[max(0, len(text)-3000):])
			}
		}
	})
	return all
}

func (r *running) start() {
	r.t.Helper()
	cmd, err := r.command()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.cmd = cmd
}

func (r *running) end(sig syscall.Signal) {
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(sig) // it may have ended
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// addr is the address of a port with a name.
func (p *pod) addr(name string) string {
	i := slices.IndexFunc(p.ports, func(port port) bool { return port.Name == name })
	return p.addrs[p.ports[i].ContainerPort]
}

// ready reports whether a page of a pod is 200, as a probe asks.
func (p *pod) ready(path string) bool {
	resp, err := http.Get("http://" + p.addr("http") + path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// says waits until a metric of a pod has a value.
func (p *pod) says(t *testing.T, line string) {
	t.Helper()
	eventually(t, p.name+" says "+line, func() bool {
		text, _ := alerttest.Scrape(p.addr("http"))
		return strings.Contains(text, "\n"+line+"\n")
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("after five minutes: not %s", what)
		}
	}
}

// smolwc runs a statement.
func smolwc(t *testing.T, addr, statements string) string {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--addr", addr, "-c", statements)
	cmd.Env = append(os.Environ(), beProgram+"=smolwc")
	out, _ := cmd.CombinedOutput() // an error is in the text
	return string(out)
}

var (
	members = []string{"etcd-0", "etcd-1", "etcd-2"}
	servers = []string{"smolwc-0", "smolwc-1", "smolwc-2"}
)

// leader waits until all servers that run are ready, and one leads.
func leader(t *testing.T, pods map[string]*running) (name string) {
	t.Helper()
	eventually(t, "all are ready and one leads", func() bool {
		name = ""
		leaders := 0
		for _, s := range servers {
			if pods[s].cmd == nil {
				continue
			}
			if !pods[s].ready("/readyz") {
				return false
			}
			if pods[s].ready("/readyz?leader") {
				name, leaders = s, leaders+1
			}
		}
		return leaders == 1 && pods["smolwc-router-0"].ready("/readyz")
	})
	return name
}

// follow waits until the other servers that run follow the one that leads, and etcd answers
// all of them.
func follow(t *testing.T, pods map[string]*running, lead string) {
	t.Helper()
	standbys := 0
	for _, s := range servers {
		if pods[s].cmd == nil {
			continue
		}
		pods[s].says(t, "smolwc_lease_judge_connected 1")
		if s != lead {
			pods[s].says(t, "smolwc_standby_connected 1")
			standbys++
		}
	}
	pods[lead].says(t, fmt.Sprint("smolwc_replicas ", standbys))
}

// What ops/kubernetes.yaml describes, as processes with its arguments, takes writes at its
// router; another server leads when the one that led is gone. The alerts fire when their
// causes are there, and no others.
func TestTheManifestsAsProcesses(t *testing.T) {
	pods := startPods(t)
	first := leader(t, pods)
	router := pods["smolwc-router-0"]
	put := func(value string) {
		t.Helper()
		eventually(t, "a write of "+value, func() bool {
			return strings.Contains(smolwc(t, router.addr("grpc"), "put t row f:q="+value+"; get t row"), `"`+value+`"`) // through whichever leads
		})
	}
	eventually(t, "a table", func() bool {
		return !strings.Contains(smolwc(t, router.addr("grpc"), "create table t family f"), "smolwc:")
	})
	put("first")
	follow(t, pods, first)

	var alerts *alerttest.Recorder
	hold := func(string, ...string) {}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Log("the alerts are not checked, since promtool is not installed")
	} else {
		pages := map[string]string{}
		for _, name := range append(servers, router.name) {
			pages[name] = pods[name].addr("http")
		}
		alerts = alerttest.New(t, filepath.Join(filepath.Dir(manifests), "smolwc.rules.yml"), pages)
		hold = func(why string, want ...string) { t.Log(why); alerts.Hold(10, want...) }
	}
	hold("all is well")

	// Without etcd the lease ends, and no server leads.
	for _, m := range members {
		pods[m].end(syscall.SIGKILL)
	}
	pods[first].says(t, "smolwc_lease_held 0")
	for _, s := range servers {
		pods[s].says(t, "smolwc_lease_judge_connected 0")
	}
	router.says(t, "smolwc_route_leaderless_instances 1")
	hold("etcd is gone", "SmolwcEtcdUnreachable", "SmolwcLeaseLost", "SmolwcNoLeader", "SmolwcNoLeaseHeld")
	for _, m := range members {
		pods[m].start()
	}
	first = leader(t, pods)
	put("second")
	follow(t, pods, first)
	hold("etcd is back")

	// The server that leads is gone, and another one takes its place.
	pods[first].end(syscall.SIGKILL)
	second := leader(t, pods)
	if second == first {
		t.Fatalf("%s leads, and does not run", first)
	}
	put("third")
	follow(t, pods, second)
	router.says(t, "smolwc_route_leaderless_instances 0")
	hold("one server is gone", "SmolwcDown")

	// The other standby too: strict writes fail, and no standby is there.
	for _, s := range servers {
		if s != first && s != second {
			pods[s].end(syscall.SIGKILL)
		}
	}
	pods[second].says(t, "smolwc_replicas 0")
	hold("two servers are gone", "SmolwcDown", "SmolwcNoStandby")
	for _, s := range servers {
		if pods[s].cmd == nil {
			pods[s].start()
		}
	}
	second = leader(t, pods)
	put("fourth")
	follow(t, pods, second)
	hold("all are back")
	if alerts != nil {
		alerts.Check()
	}
}
