package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every page is in the order of the site, except the decision records, which the script
// adds.
func TestEveryPageIsInTheSummary(t *testing.T) {
	listed := map[string]bool{"docs/SUMMARY.md": true}
	for _, m := range link.FindAllStringSubmatch(read(t, "docs/SUMMARY.md"), -1) {
		name := path.Join("docs", m[1])
		if listed[name] {
			t.Errorf("docs/SUMMARY.md lists %s twice", name)
		}
		listed[name] = true
	}
	for _, page := range pages(t) {
		if !listed[page] && !strings.HasPrefix(page, "docs/decisions/") {
			t.Errorf("docs/SUMMARY.md does not list %s", page)
		}
	}
}

// The pages that mdBook reads are whole: their links lead to pages of the site, with the
// headings that they name.
func TestSourcesOfTheSite(t *testing.T) {
	book := t.TempDir()
	cmd := exec.Command("go", "run", "./docs/site", book)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go run ./docs/site: %v\n%s", err, out)
	}
	src := filepath.Join(book, "src")
	summary, err := os.ReadFile(filepath.Join(src, "SUMMARY.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	err = fs.WalkDir(os.DirFS(src), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		if name != "SUMMARY.md" && !strings.Contains(string(summary), "]("+name+")") {
			t.Errorf("the site leaves %s out", name)
		}
		links += checkLinks(t, src, name)
		return nil
	})
	if err != nil || links < 400 {
		t.Errorf("%d links, %v", links, err)
	}
}

// checkLinks follows the links of a page below src.
func checkLinks(t *testing.T, src, name string) (n int) {
	text, err := os.ReadFile(filepath.Join(src, name))
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(text) {
		t.Errorf("%s of the site is no text", name)
	}
	if strings.Count(path.Base(name), ".") > 1 { // a file that is shown as it is
		return 0
	}
	for _, m := range links(string(text)) {
		if strings.Contains(m[1], "://") {
			continue
		}
		n++
		file, anchor, _ := strings.Cut(m[1], "#")
		to := name
		if file != "" {
			to = path.Join(path.Dir(name), file)
		}
		target, err := os.ReadFile(filepath.Join(src, to))
		if err != nil {
			t.Errorf("%s of the site links to %s, which is not there", name, m[1])
		} else if anchor != "" && !headings(string(target))[anchor] {
			t.Errorf("%s of the site links to %s, which has no heading of that name", name, m[1])
		}
	}
	return n
}
