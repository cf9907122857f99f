// Package ops_test holds the files for operators against servers that run.
package ops_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/smolwc/smolwc/internal/alerttest"
)

// A rule is an alert of Prometheus.
type rule struct {
	Alert, Expr, For string
	Labels           map[string]string
	Annotations      map[string]string
}

const rulesFile = "smolwc.rules.yml"

// rules are the alerts.
func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(read(t, rulesFile), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("only %d rules were found", len(all))
	}
	return all
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var (
	quotedText = regexp.MustCompile(`"[^"]*"`)
	grouping   = regexp.MustCompile(`\bby \([^)]*\)`)
	selector   = regexp.MustCompile(`\{[^}]*\}`)
	metricName = regexp.MustCompile(`\b(?:smolwc|go|process)_[a-z0-9_]+|\bup\b`)
)

// metricsOf are the names of the metrics in an expression of PromQL.
func metricsOf(expr string) []string {
	expr = selector.ReplaceAllString(quotedText.ReplaceAllString(expr, ""), "")
	return metricName.FindAllString(grouping.ReplaceAllString(expr, ""), -1)
}

// expressions are what alerts and dashboards evaluate, by their places.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, r := range rules(t) {
		found["alert "+r.Alert] = r.Expr
	}
	dashboards, _ := filepath.Glob("*.json")
	for _, path := range dashboards {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, RefID string }
			}
		}
		if err := json.Unmarshal(read(t, path), &dashboard); err != nil {
			t.Fatal(err)
		}
		for _, p := range dashboard.Panels {
			for _, target := range p.Targets {
				found[path+", panel "+p.Title+" "+target.RefID] = target.Expr
			}
		}
	}
	return found
}

// source is the code of the servers.
func source(t *testing.T) string {
	var all strings.Builder
	for _, dir := range []string{"../server", "../server/route"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, path := range files {
			if !strings.HasSuffix(path, "_test.go") {
				all.Write(read(t, path))
			}
		}
	}
	return all.String()
}

// The alerts and the dashboards use metrics that a primary, a standby or a router has; those
// that need etcd, a region or a materialized view are in the code.
func TestMetricsOfAlertsAndDashboardsExist(t *testing.T) {
	p := newPair(t)
	p.smolwc("--addr", p.router.addr, "-c", "put fleet plane#1 meta:model=737; get fleet plane#1; scan fleet")
	p.smolwc("verify", "--addr", p.standby.addr, "--against", p.link.Addr())
	p.primary.says("smolwc_moments_earliest_timestamp_seconds ")
	late := newProcess(t, "serve", "--db", filepath.Join(p.dir, "late"), "--history", "off", "--memory", "16MiB", "--standby-of", p.primary.addr, "--standby-name", "late", "--standby-delay", "1h")
	p.smolwc("--addr", p.primary.addr, "-c", "put fleet plane#2 meta:model=747")
	late.says("smolwc_standby_delayed_earliest_timestamp_seconds ")
	have := map[string]bool{"up": true} // of Prometheus itself
	for _, s := range []*process{p.primary, p.standby, p.router, late} {
		text, ok := alerttest.Scrape(s.pages)
		if !ok {
			t.Fatalf("%s has no metrics: %s", s.pages, text)
		}
		for line := range strings.Lines(text) {
			if name := metricName.FindString(line); name != "" && !strings.HasPrefix(line, "#") {
				have[name] = true
			}
		}
	}
	code := source(t)
	for _, name := range []string{"smolwc_materialized_view_lag_seconds"} {
		have[name] = strings.Contains(code, `"`+name+`"`)
	}
	for _, name := range []string{"lease_held", "lease_left_seconds", "lease_judge_connected"} {
		have["smolwc_"+name] = strings.Contains(code, `give("`+name+`"`)
	}
	have["smolwc_region_ready"] = strings.Contains(string(read(t, "../rhino/node/open.go")), `state("ready"`)
	all := expressions(t)
	for place, expr := range all {
		names := metricsOf(expr)
		if len(names) == 0 {
			t.Errorf("%s uses no metric: %s", place, expr)
		}
		for _, name := range names {
			if !have[name] {
				t.Errorf("%s uses %s, which no server has", place, name)
			}
		}
	}
	if len(all) < 60 {
		t.Errorf("only %d expressions were found", len(all))
	}
}

var heading = regexp.MustCompile(`(?m)^## (Smolwc\w+)$`)

// Each alert says what is wrong and how bad it is, and leads to a section of the runbook with
// commands and with what is good; each section is of an alert.
func TestEachAlertHasASectionOfTheRunbook(t *testing.T) {
	const page = "https://github.com/smolwc/smolwc/blob/main/docs/runbook.md#"
	text := string(read(t, "../docs/runbook.md"))
	sections := map[string]string{}
	places := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		sections[text[at[2]:at[3]]] = text[at[1]:end]
	}
	for _, r := range rules(t) {
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
			t.Errorf("the rule %+v lacks something", r)
		}
		if got, want := r.Annotations["runbook_url"], page+strings.ToLower(r.Alert); got != want {
			t.Errorf("%s leads to %q; want %q", r.Alert, got, want)
		}
		section, ok := sections[r.Alert]
		if !ok {
			t.Errorf("the runbook has no section %s", r.Alert)
		} else if !strings.Contains(section, "```console\n") || !strings.Contains(section, "\nGood: ") {
			t.Errorf("the section %s has no command, or does not say what is good:%s", r.Alert, section)
		}
		delete(sections, r.Alert)
	}
	for name := range sections {
		t.Errorf("the section %s is of no alert", name)
	}
}

// Prometheus accepts the rules, and each alert fires for its cause and for no other.
func TestPromtoolAcceptsTheAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", "smolwc.rules.test.yml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	tests := string(read(t, "smolwc.rules.test.yml"))
	for _, r := range rules(t) {
		if !strings.Contains(tests, `alertname="`+r.Alert+`"`) {
			t.Errorf("smolwc.rules.test.yml does not have %s", r.Alert)
		}
	}
}

// Kubernetes knows each field of the manifests. $SMOLWC_TEST_SCHEMAS is where kubeconform
// finds the schemas, as its -schema-location; by default it fetches them.
func TestKubeconformAcceptsTheManifests(t *testing.T) {
	kubeconform, err := exec.LookPath("kubeconform")
	if err != nil {
		t.Skip("kubeconform is not installed: go install github.com/yannh/kubeconform/cmd/kubeconform@latest")
	}
	args := []string{"-strict", "-summary"}
	if at := os.Getenv("SMOLWC_TEST_SCHEMAS"); at != "" {
		args = append(args, "-schema-location", at)
	}
	for _, path := range []string{"kubernetes.yaml", "../packaging/kubernetes.yaml"} {
		out, err := exec.Command(kubeconform, append(args, path)...).CombinedOutput()
		switch {
		case err != nil && strings.Contains(string(out), "failed downloading schema"):
			t.Skipf("kubeconform cannot fetch the schemas; name them in $SMOLWC_TEST_SCHEMAS:\n%s", out)
		case err != nil:
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}

// systemd accepts the units.
func TestSystemdAcceptsTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed; it is systemd's")
	}
	units, _ := filepath.Glob("*.service")
	if len(units) == 0 {
		t.Fatal("there are no units")
	}
	for _, unit := range units {
		// What a unit starts need not be installed where the test runs.
		text := strings.ReplaceAll(string(read(t, unit)), "/usr/bin/smolwc", "/bin/true")
		path := filepath.Join(t.TempDir(), unit)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || strings.Contains(string(out), unit) {
			t.Errorf("systemd-analyze verify %s: %v\n%s", unit, err, out)
		}
	}
}
