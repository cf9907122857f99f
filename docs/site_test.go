package docs_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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

// searches are words of a beginner, and the pages that they have to find first.
var searches = map[string]string{
	"pagination": "reading", "ttl": "retention", "expire": "retention", "update": "shell-writing",
	"or": "shell-reading", "like": "shell-reading", "join": "from-sql", "secondary index": "modelling",
	"upsert": "shell-writing", "increment": "shell-writing", "counter": "aggregates",
	"delete": "shell-writing", "how do I delete a row": "shell-writing", "drop table": "shell-tables",
	"backup": "backup", "restore": "shell-upkeep", "restore a table": "shell-upkeep",
	"password": "serve", "login": "serve", "tls": "serve", "auth": "serve", "port": "serve",
	"docker": "install", "kubernetes": "install", "windows": "stability", "null": "shell-reading",
	"timestamp": "shell-language", "version": "recipes", "limit": "reading", "page": "reading",
	"cursor": "reading", "batch": "shell-writing", "import csv": "recipes", "csv": "recipes",
	"upgrade": "upgrade", "transaction": "transactions", "replication": "standby",
	"connect python": "start-emulator", "nodejs": "clients", "out of disk": "runbook", "list tables": "shell-tables",
	"memory limit": "settings", "getting started": "start-shell", "back up": "backup",
	"average": "shell-reading", "database is locked": "install", "health check": "serve",
	"config": "settings", "sqlite": "from-sql", "benchmark": "performance", "Prometheus": "metrics",
}

// Words that beginners search for have a place, which is on a page for users.
func TestSynonymsLeadToPages(t *testing.T) {
	summary := read(t, "docs/SUMMARY.md")
	words := map[string]bool{}
	for line := range strings.Lines(read(t, "docs/site/search.txt")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		place, list, _ := strings.Cut(line, ": ")
		page, anchor, _ := strings.Cut(place, "#")
		if !strings.Contains(summary, "("+strings.TrimPrefix(page, "docs/")+")") {
			t.Errorf("docs/site/search.txt: %s is not in docs/SUMMARY.md", page)
		} else if !headings(read(t, page))[anchor] {
			t.Errorf("docs/site/search.txt: %s has no heading %s", page, anchor)
		}
		for word := range strings.SplitSeq(list, ", ") {
			words[strings.TrimPrefix(word, "=")] = true
		}
	}
	for search := range searches {
		asked := strings.Fields(strings.ToLower(search))
		if !words[strings.Join(asked, " ")] && !slices.ContainsFunc(asked, func(w string) bool { return words[w] }) {
			t.Errorf("docs/site/search.txt does not have %q", search)
		}
	}
}

// The search of the built site finds the right page first. It needs mdBook, which make site
// fetches, and node.
func TestFirstHits(t *testing.T) {
	mdbook, _ := filepath.Glob("../bin/tools/mdbook-*/bin/mdbook")
	if _, err := exec.LookPath("node"); err != nil || mdbook == nil {
		t.Skip("there is no node, or no mdBook in bin/tools")
	}
	book, site := t.TempDir(), t.TempDir()
	run := func(dir, name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		var failed bytes.Buffer
		cmd.Stderr = &failed
		cmd.Stdin = strings.NewReader(strings.Join(slices.Sorted(maps.Keys(searches)), "\n"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, &failed)
		}
		return string(out)
	}
	run("..", "go", "run", "./docs/site", book)
	run(".", mdbook[0], "build", book, "--dest-dir", site)
	first := strings.Split(run(".", "node", "site/testsearch.mjs", site), "\n")
	for i, search := range slices.Sorted(maps.Keys(searches)) {
		if want := "docs/" + searches[search] + ".html#"; !strings.HasPrefix(first[i], want) {
			t.Errorf("%q finds %s first, not %s", search, first[i], want)
		}
	}
	index, _ := filepath.Glob(filepath.Join(site, "searchindex-*.js"))
	if len(index) != 1 || bytes.Contains(readFile(t, index[0]), []byte(`"docs/decisions/`)) {
		t.Errorf("the index has decision records: %v", index)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
