package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var named = regexp.MustCompile("`([a-z/]+)` (Test[A-Za-z0-9]+(?:, Test[A-Za-z0-9]+)*)")

// checkNamed checks that packages have the tests that are named after them.
func checkNamed(t *testing.T, found [][]string) {
	for _, m := range found {
		files, _ := filepath.Glob(filepath.Join("..", m[1], "*_test.go"))
		for name := range strings.SplitSeq(m[2], ", ") {
			if !anyContains(t, files, "func "+name+"(") {
				t.Errorf("%s has no %s", m[1], name)
			}
		}
	}
}

// Every promise names a test, and each named test exists in the named package.
func TestPromisesHaveTheirTests(t *testing.T) {
	rows := 0
	for line := range strings.Lines(read(t, "docs/testdata/promises.txt") + read(t, "docs/testdata/promises-standby.txt")) {
		if line == "\n" || strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		found := named.FindAllStringSubmatch(line, -1)
		if len(found) == 0 {
			t.Errorf("a promise without a test: %s", line)
		}
		checkNamed(t, found)
	}
	if rows < 100 {
		t.Errorf("%d promises", rows)
	}
}

func anyContains(t *testing.T, files []string, text string) bool {
	t.Helper()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}
