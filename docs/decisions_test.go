package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var decisionHead = regexp.MustCompile(`(?m)^\*\*Date\*\* 20\d\d-\d\d-\d\d · \*\*Status\*\* (accepted|withdrawn|replaced by \[decision \d+\]\(\d{4}-[\w-]+\.md\))$`)

// Each decision has its date and its status.
func TestDecisionsHaveADateAndAStatus(t *testing.T) {
	pages, err := filepath.Glob("decisions/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitN(string(b), "\n", 4)
		if len(lines) < 4 || !decisionHead.MatchString(lines[2]) {
			t.Errorf("%s: the third line must be like **Date** 2026-11-22 · **Status** accepted", page)
		}
	}
}
