package server_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"go.yaml.in/yaml/v3"

	"github.com/smolwc/smolwc/server"
)

// A ruleFile is alert rules of Prometheus.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For string
			Labels           map[string]string
			Annotations      map[string]string
		}
	}
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

// The expressions of ops/ by the places where they are.
func opsExpressions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	text, err := os.ReadFile("../ops/smolwc.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var rules ruleFile
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			found["alert "+r.Alert] = r.Expr
			if r.Alert == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
				t.Errorf("the rule %+v lacks something", r)
			}
		}
	}
	if text, err = os.ReadFile("../ops/grafana.json"); err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			found["panel "+p.Title+" "+target.RefID] = target.Expr
		}
	}
	return found
}

// The alerts and the dashboard of ops/ use metrics that a server has.
func TestAlertsAndDashboardUseMetricsThatExist(t *testing.T) {
	r, s, _ := limited(t, server.Limits{})
	r.table("flights", "f")
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, []byte("x"))
	r.must(r.client().Open("flights").Apply(r.ctx(), "k", m))
	r.must(r.materialize("totals", "SELECT _key, COUNT(f['q']) AS n FROM flights GROUP BY _key"))
	have := []string{"up"} // of Prometheus itself
	for line := range strings.Lines(page(t, s, "/metrics", 200)) {
		if name := metricName.FindString(line); name != "" && !strings.HasPrefix(line, "#") {
			have = append(have, name)
		}
	}
	expressions := opsExpressions(t)
	for place, expr := range expressions {
		names := metricsOf(expr)
		if len(names) == 0 {
			t.Errorf("%s uses no metric: %s", place, expr)
		}
		for _, name := range names {
			if !slices.Contains(have, name) {
				t.Errorf("%s uses %s, which /metrics does not have", place, name)
			}
		}
	}
	if len(expressions) < 30 {
		t.Errorf("only %d expressions were found", len(expressions))
	}
}

// Prometheus accepts the rules.
func TestPromtoolAcceptsTheAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	if out, err := exec.Command(promtool, "check", "rules", "../ops/smolwc.rules.yml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
