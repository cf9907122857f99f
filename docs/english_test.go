package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A measure is a way of writing that German brings along. It is counted, not forbidden:
// where a text has too much of it, its sentences are written anew from their verbs.
type measure struct {
	name    string
	re      *regexp.Regexp
	skip    func(text string, at []int) bool // leaves a match out; nil: none
	most    float64                          // in 10,000 words
	instead string
}

// The bounds of the first four are half of what smolwc's comments had in 2026. Comments of
// pebble, pgx, bbolt, litestream and rqlite have 0 to 0.3, 0 to 0.8, 0.4 to 3.3 and 11 to
// 22.
var measures = []measure{
	{"that of", regexp.MustCompile(`(?i)\b(?:that|those) of\b`), nil, 6.5, `the noun again, "X's", or another verb`},
	{"alone", regexp.MustCompile(`(?i)\balone\b`), nil, 2.4, `"only", "by itself"`},
	{"what", regexp.MustCompile(`(?i)(?:\b(?:` + asking + `)\s+)?\bwhat\b`), isQuestion, 14, `the thing by its name`},
	{"has", regexp.MustCompile(`(?i)\bhas\b`), nil, 40, `the verb for what it does: "holds", "lists", "must", or the past tense`},
	{"inversions", inversions, nil, 1, `"there is no …", "this many", "whose", "a client that …", "because there is no …", "no longer", "by default"`},
}

// asking are the verbs of indirect questions, in which English has "what" too.
const asking = `says?|said|saying|asks?|asked|asking|knows?|known|knowing|sees?|seen|seeing|tells?|told|shows?|shown|decides?|decided|describes?|explains?|explained|learns?|understands?|out|about|guess(?:es)?|matter|check(?:s|ed)?|remembers?|forgets?|on`

var inversions = regexp.MustCompile(`(?i)\b(?:is|are|was|were|be) none\b|\bso many\b|\bof (?:which|whom)\b|\b(?:those|one|he|nobody|somebody|anybody) who\b|\bwho(?:m?ever|so)\b|\bfor want of\b|\bany more\b|\bif not said\b|\b(?:compares?|begins?) so\b|^that (?:are|had|has|have|is|was|were)\b`)

// isQuestion reports whether a "what" asks, by the verb before it or the end of its sentence.
func isQuestion(text string, at []int) bool {
	if at[1]-at[0] > len("what") {
		return true
	}
	rest := text[at[1]:]
	end := strings.IndexAny(rest, ".?!")
	return end >= 0 && rest[end] == '?'
}

// A corpus is the texts of one kind.
type corpus struct {
	words int
	found [][]string // by measure: the places
}

// kindOf is the kind of a paragraph.
func kindOf(file string, p paragraph) string {
	switch {
	case strings.HasPrefix(file, "docs/decisions/"):
		return "decision records"
	case strings.HasSuffix(file, ".md"):
		return "pages"
	case p.message:
		return "messages"
	case strings.HasSuffix(file, "_test.go"):
		return "comments of tests"
	}
	return "comments"
}

// more are the bounds of kinds that have not come down to those of the measures yet. They
// may only fall.
var more = map[string]map[string]float64{
	"comments of tests": {"that of": 12, "alone": 5, "what": 48, "has": 104},
	"messages":          {"alone": 3.6, "what": 16, "has": 133}, // errors say what a thing has
}

// Comments, messages, pages and decision records are in plain English: ways of writing that
// are seldom in it are seldom here. The changelog's released versions stay as they are.
func TestPlainEnglish(t *testing.T) {
	kinds := map[string]*corpus{}
	for _, file := range tracked(t) {
		for _, p := range paragraphs(t, file) {
			kind := kindOf(file, p)
			if kinds[kind] == nil {
				kinds[kind] = &corpus{found: make([][]string, len(measures))}
			}
			kinds[kind].count(file, p)
		}
	}
	if len(kinds) != 5 {
		t.Errorf("%d kinds of texts", len(kinds))
	}
	for kind, c := range kinds {
		c.check(t, kind)
	}
}

func (c *corpus) count(file string, p paragraph) {
	c.words += len(strings.Fields(p.text))
	for i, m := range measures {
		for _, at := range m.re.FindAllStringIndex(p.text, -1) {
			if m.skip == nil || !m.skip(p.text, at) {
				c.found[i] = append(c.found[i], fmt.Sprintf("%s:%d", file, p.line))
			}
		}
	}
}

func (c *corpus) check(t *testing.T, kind string) {
	if c.words < 20_000 {
		t.Errorf("only %d words of %s were found", c.words, kind)
	}
	for i, m := range measures {
		bound := cmp.Or(more[kind][m.name], m.most)
		if is := float64(len(c.found[i])) * 10_000 / float64(c.words); is > bound {
			t.Errorf("%s: %q is there %.1f times in 10,000 words, at most %.1f; write %s: %v", kind, m.name, is, bound, m.instead, c.found[i])
		}
	}
}

// tracked are the files of the repository, by their paths from its root.
func tracked(t *testing.T) []string {
	cmd := exec.Command("git", "ls-files", "-z", "*.md", "*.go")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), isLeftOut)
}

func isLeftOut(file string) bool { return file == "" || file == "docs/english_test.go" }

// A paragraph is a line of a page, a comment, or a string of the product.
type paragraph struct {
	line    int // where it begins, counted from 1
	text    string
	message bool
}

func paragraphs(t *testing.T, file string) []paragraph {
	text, err := os.ReadFile(filepath.Join("..", file))
	if os.IsNotExist(err) {
		return nil // removed, and not committed yet
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".go") {
		return comments(t, file, text)
	}
	return prose(string(text))
}

var notProse = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)") // code, and where links lead

// prose is the lines of a page outside of fenced blocks, headings and heads of tables, up
// to the first version that was released.
func prose(text string) (found []paragraph) {
	fenced := false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "## [0.1.0]"):
			return found
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced && line != "" && line[0] != '#' && (i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "|---")):
			found = append(found, paragraph{line: i + 1, text: notProse.ReplaceAllString(line, "x")})
		}
	}
	return found
}

// comments are those of a Go file, each with its lines joined, and the file's messages.
func comments(t *testing.T, file string, text []byte) (found []paragraph) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parsed.Comments {
		found = append(found, paragraph{line: files.Position(c.Pos()).Line, text: strings.Join(strings.Fields(c.Text()), " ")})
	}
	if strings.HasSuffix(file, "_test.go") {
		return found
	}
	return append(found, messages(files, parsed)...)
}

// messages are the strings of a file that have several words: errors, log lines, help.
func messages(files *token.FileSet, parsed *ast.File) (found []paragraph) {
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
			text, _ := strconv.Unquote(lit.Value) // the parser has accepted it
			found = append(found, paragraph{line: files.Position(lit.Pos()).Line, text: text, message: true})
		}
		return true
	})
	return found
}
