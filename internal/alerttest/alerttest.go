// Package alerttest is for tests: it tells which alerts of Prometheus fire on metrics that
// servers really had.
package alerttest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// step is the time between two samples.
const step = 15 * time.Second

// A Recorder holds samples of targets over a time that does not pass: each call of Hold
// adds some minutes in which all metrics are as they are now.
type Recorder struct {
	t        testing.TB
	promtool string
	rules    string
	pages    map[string]string // by instance
	began    float64           // in seconds since 1970
	samples  map[string][]string
	taken    int
	wants    []string
}

// New is for the rules in a file, and the addresses of the targets' pages by their names. It
// skips the test without promtool.
func New(t testing.TB, rules string, pages map[string]string) *Recorder {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
	if rules, err = filepath.Abs(rules); err != nil {
		t.Fatal(err)
	}
	return &Recorder{t: t, promtool: promtool, rules: rules, pages: pages, began: float64(time.Now().Unix()), samples: map[string][]string{}}
}

// Scrape is the text of /metrics at an address; ok is false if Prometheus would say that the
// target is down.
func Scrape(addr string) (text string, ok bool) {
	c := http.Client{Timeout: 10 * time.Second} // Prometheus's default
	resp, err := c.Get("http://" + addr + "/metrics")
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err == nil && resp.StatusCode == http.StatusOK
}

var sample = regexp.MustCompile(`(?m)^((?:smolwc|process)_\w+)(?:\{(.*)\})? (\S+)$`)

// Hold lets minutes pass, and then wants just these alerts to fire.
func (r *Recorder) Hold(minutes int, alerts ...string) {
	r.t.Helper()
	now := map[string]string{}
	for instance, addr := range r.pages {
		text, ok := Scrape(addr)
		own := fmt.Sprintf(`job="smolwc",instance=%q`, instance)
		now["up{"+own+"}"] = "0"
		if !ok {
			continue
		}
		now["up{"+own+"}"] = "1"
		for _, m := range sample.FindAllStringSubmatch(text, -1) {
			name, labels, value := m[1], m[2], m[3]
			if name == "process_start_time_seconds" {
				at, err := strconv.ParseFloat(value, 64)
				if err != nil {
					r.t.Fatal(err)
				}
				// The server that starts now starts at this moment of promtool's time.
				value = fmt.Sprint(at - r.began + (time.Duration(r.taken) * step).Seconds())
			}
			if labels != "" {
				labels = "," + labels
			}
			now[name+"{"+own+labels+"}"] = value
		}
	}
	n := minutes * int(time.Minute/step)
	for series := range now {
		if r.samples[series] == nil {
			r.samples[series] = slices.Repeat([]string{"_"}, r.taken)
		}
	}
	for series, old := range r.samples {
		value, there := now[series]
		for i := range n {
			switch {
			case there:
				old = append(old, value)
			case i == 0 && r.taken > 0:
				old = append(old, "stale")
			default:
				old = append(old, "_")
			}
		}
		r.samples[series] = old
	}
	r.taken += n
	slices.Sort(alerts)
	var want strings.Builder
	fmt.Fprintf(&want, "      - expr: group by (alertname) (ALERTS{alertstate=\"firing\"})\n        eval_time: %v\n        exp_samples:\n", time.Duration(r.taken-1)*step)
	for _, a := range alerts {
		fmt.Fprintf(&want, "          - {labels: '{alertname=%q}', value: 1}\n", a)
	}
	r.wants = append(r.wants, want.String())
}

// Check asks promtool.
func (r *Recorder) Check() {
	r.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "rule_files: [%s]\nevaluation_interval: %v\ntests:\n  - interval: %v\n    input_series:\n", r.rules, step, step)
	for _, series := range slices.Sorted(maps.Keys(r.samples)) {
		fmt.Fprintf(&text, "      - series: '%s'\n        values: '%s'\n", strings.ReplaceAll(series, "'", "''"), strings.Join(r.samples[series], " "))
	}
	text.WriteString("    promql_expr_test:\n" + strings.Join(r.wants, ""))
	path := filepath.Join(r.t.TempDir(), "alerts.test.yml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if out, err := exec.Command(r.promtool, "test", "rules", path).CombinedOutput(); err != nil {
		r.t.Errorf("promtool: %v\n%s", err, out)
	}
}
