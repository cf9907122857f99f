// Command site writes the pages of the repository as mdBook reads them; scripts/site
// builds the site from that. The pages keep their places, so most links stay as they
// are. A linked file that is no page, such as config.yaml, becomes one: config.yaml.md. The
// search knows users' pages only, and the synonyms of search.txt.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage, from the root of the repository: go run ./docs/site DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

const decisions = "docs/decisions.md" // the page that stands for the folder of decisions

// A site collects files while its pages are written below src.
type site struct {
	src   string
	files map[string]bool // linked files without a page, by their paths from the root
}

func write(book string) error {
	s := &site{src: filepath.Join(book, "src"), files: map[string]bool{}}
	for from, to := range map[string]string{"docs/site/site.css": book, "docs/pictures/*.svg": filepath.Join(s.src, "docs", "pictures"), "docs/images/*.png": filepath.Join(s.src, "docs", "images")} {
		if err := copyTo(to, from); err != nil {
			return err
		}
	}
	records, err := filepath.Glob("docs/decisions/*.md")
	if err != nil {
		return err
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		if err := s.pages(pattern, records); err != nil {
			return err
		}
	}
	if err := s.summary(records); err != nil {
		return err
	}
	for file := range s.files {
		if err := s.file(file); err != nil {
			return err
		}
	}
	if err := s.settings(book, records); err != nil {
		return err
	}
	return firstHits(book)
}

// notSearched are pages for contributors, below which there is nothing for users.
var notSearched = []string{"docs/SUMMARY.md", decisions, "docs/architecture.md", "CONTRIBUTING.md", "CHANGELOG.md"}

// settings writes mdBook's settings. They name the pages that the search leaves out: those
// for contributors, decision records, and files.
func (s *site) settings(book string, records []string) error {
	text, err := os.ReadFile("docs/site/book.toml")
	if err != nil {
		return err
	}
	out := strings.TrimSpace(string(text)) + "\n"
	for _, page := range slices.Concat(notSearched, records, slices.Sorted(maps.Keys(s.files))) {
		out += fmt.Sprintf("%q = { enable = false }\n", pageOf(filepath.ToSlash(page)))
	}
	return save(filepath.Join(book, "book.toml"), out)
}

// firstHits writes the script of the search: search.txt as a table, and search.js.
func firstHits(book string) error {
	text, err := os.ReadFile("docs/site/search.txt")
	if err != nil {
		return err
	}
	places := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		place, words, ok := strings.Cut(line, ": ")
		if line == "" || line[0] == '#' {
			continue
		}
		if !ok {
			return fmt.Errorf("docs/site/search.txt:%d: no colon with a space after a place", i+1)
		}
		for word := range strings.SplitSeq(words, ", ") {
			if places[word] != "" {
				return fmt.Errorf("docs/site/search.txt:%d: %q has a place already", i+1, word)
			}
			places[word] = strings.Replace(place, ".md#", ".html#", 1)
		}
	}
	table, err := json.Marshal(places)
	if err != nil {
		return err
	}
	script, err := os.ReadFile("docs/site/search.js")
	if err != nil {
		return err
	}
	return save(filepath.Join(book, "search.js"), "const firstHits = "+string(table)+";\n"+string(script))
}

// copyTo copies the files that match a pattern to a directory.
func copyTo(dir, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := save(filepath.Join(dir, filepath.Base(f)), string(b)); err != nil {
			return err
		}
	}
	return nil
}

func save(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// pages writes the pages that match a pattern.
func (s *site) pages(pattern string, records []string) error {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		name = filepath.ToSlash(name)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		page := s.relinked(string(text), path.Dir(name), path.Dir(name))
		if name == decisions {
			page += list("", records, "docs")
		}
		if err := save(filepath.Join(s.src, pageOf(name)), session.ReplaceAllString(page, "```text")); err != nil {
			return err
		}
	}
	return nil
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)
	session = regexp.MustCompile("(?m)^```smolwc.*$") // a language that no highlighter knows
)

// relinked is the text of a page in the directory from, as a page in the directory to.
func (s *site) relinked(text, from, to string) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		m := link.FindStringSubmatch(found)
		if strings.Contains(m[1], "://") {
			return found
		}
		target := path.Join(from, m[1])
		if info, err := os.Stat(target); err != nil || info.IsDir() && target+".md" != decisions {
			return found // no link, as in an example; the tests of the pages find wrong ones
		}
		page := pageOf(target)
		if page == target+".md" && page != decisions {
			s.files[target] = true
		}
		relative, err := filepath.Rel(to, page)
		if err != nil {
			return found
		}
		return "](" + filepath.ToSlash(relative) + m[2] + ")"
	})
}

// pageOf is the page of the site that shows a file of the repository.
func pageOf(file string) string {
	dir, base := path.Split(file)
	switch {
	case file == "README.md":
		return "index.md"
	case path.Ext(file) == ".svg" || path.Ext(file) == ".png":
		return file
	case path.Ext(file) == ".md" && base != "README.md" && (dir == "" || strings.HasPrefix(dir, "docs/")):
		return file
	}
	return file + ".md"
}

// summary writes the order of the site: that of docs/SUMMARY.md, the decision records
// below their page, and the files at the end.
func (s *site) summary(records []string) error {
	text, err := os.ReadFile("docs/SUMMARY.md")
	if err != nil {
		return err
	}
	order := strings.TrimSpace(s.relinked(string(text), "docs", ".")) + "\n"
	entry := "(" + decisions + ")\n"
	if !strings.HasSuffix(order, entry) {
		return fmt.Errorf("docs/SUMMARY.md does not end with the page %s", decisions)
	}
	order += list("  ", records, ".") + "- [All pages](docs/SUMMARY.md)\n\n# Files\n\n"
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		order += fmt.Sprintf("- [%s](%s)\n", file, pageOf(file))
	}
	return save(filepath.Join(s.src, "SUMMARY.md"), order)
}

// list has a line for each decision record, with its title, as a part of a page in dir.
func list(indent string, records []string, dir string) string {
	var out strings.Builder
	for _, name := range records {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // writing the page says so
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			continue
		}
		fmt.Fprintf(&out, "%s- [%s](%s)\n", indent, title, filepath.ToSlash(relative))
	}
	return out.String()
}

// file writes a file that is no page as one.
func (s *site) file(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	page := "# " + name + "\n\n"
	if strings.HasSuffix(name, ".md") {
		_, rest, _ := strings.Cut(string(text), "\n") // its title
		page += rest
	} else {
		page += "````" + strings.TrimPrefix(path.Ext(name), ".") + "\n" + string(text) + "````\n"
	}
	return save(filepath.Join(s.src, pageOf(name)), page)
}
