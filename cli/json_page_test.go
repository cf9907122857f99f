package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// figures are the numbers of an answer that differ from run to run.
var figures = regexp.MustCompile(`"(time_ms|micros[a-z_]*|bytes_scanned)":\d+`)

// The calls of curl in docs/json-api.md run, from the first to the last, and have the
// answers that the page shows below them, except for times and sizes.
func TestJSONPage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "json-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--db", "./data", "--http", ":0")
	ours := strings.NewReplacer("http://127.0.0.1:9876", strings.TrimSuffix(s.pages, "/metrics"))
	run := 0
	for _, c := range pageCommands(string(text)) {
		if !strings.HasPrefix(c.line, "curl ") {
			continue
		}
		run++
		out, err := exec.Command("sh", "-c", ours.Replace(c.line)).CombinedOutput()
		if got := figures.ReplaceAllString(string(out), `"$1":0`); err != nil || got != c.shown {
			t.Errorf("%s: %v\nprints\n%s\nand the page shows\n%s", c.line, err, got, c.shown)
		}
	}
	if run < 8 {
		t.Errorf("only %d calls", run)
	}
}
