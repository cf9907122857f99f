// Package docs_test reads the pages and checks what they promise: worked examples are
// computed, transcripts are run again, names and links are looked up. A wrong page
// fails here.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A block is a fenced block of a page.
type block struct {
	page  string
	line  int    // of its first line, counted from 1
	info  string // what follows the opening fence
	lines []string
}

func (b *block) text() string { return strings.Join(b.lines, "\n") + "\n" }

// read returns a page, named from the root of the repository.
func read(t testing.TB, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the fenced blocks of a page with this info string; there must be
// at least one.
func blocks(t testing.TB, page, info string) []block {
	t.Helper()
	var found []block
	var open *block
	for i, line := range strings.Split(read(t, page), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case open == nil && isFence:
			open = &block{page: page, line: i + 2, info: fence}
		case open != nil && isFence:
			if open.info == info {
				found = append(found, *open)
			}
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: block is not closed", page, open.line)
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block marked %s", page, info)
	}
	return found
}

// pages are all pages of the project.
func pages(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(f, ".."+string(filepath.Separator))))
		}
	}
	return names
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("(?ms)^```.*?^```")
)

// links are the links of a page, as matches of link: f[T](v) in code is not one.
func links(text string) [][]string {
	return link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1)
}

// Links to other pages lead to files that exist, and to headings that they have.
func TestLinksLead(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		for _, m := range links(read(t, page)) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := page
			if file != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
			}
			if _, err := os.Stat(filepath.Join("..", to)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if anchor != "" && !headings(read(t, to))[anchor] {
				t.Errorf("%s links to %s, which has no heading of that name", page, m[1])
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d links found", n)
	}
}

// headings are the anchors of a page.
func headings(text string) map[string]bool {
	anchors := map[string]bool{}
	for line := range strings.Lines(text) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case strings.ContainsRune("`.,:;()'\"/?!+*", r):
				return -1
			}
			return r
		}, strings.ToLower(strings.TrimSpace(title)))
		anchors[anchor] = true
	}
	return anchors
}
