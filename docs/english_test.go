package docs_test

import (
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

// A phrase is hard to read. Instead says what to write. A text without its word, in lower
// case, is not matched: that takes much longer.
type phrase struct {
	word    string
	re      *regexp.Regexp
	instead string
}

var phrases = []phrase{
	{" none", regexp.MustCompile(`(?i)\b(is|are|was|were|be) none\b`), `"is not a …", "there is no …", "no … is"`},
	{"so many", regexp.MustCompile(`(?i)\bso many\b`), `"this many", "a number of", "the newest N"`},
	{"of wh", regexp.MustCompile(`(?i)\bof (which|whom)\b`), `a second sentence, or "whose"`},
	{"who", regexp.MustCompile(`(?i)\b(those|one|he|nobody|somebody|anybody) who\b`), `"a client that …", "the caller"`},
	{"who", regexp.MustCompile(`(?i)\bwho(m?ever|so)\b`), `"any client that …", "the next open"`},
	{"who ", regexp.MustCompile(`(^|[.:;] )Who [^?]*\.`), `"a client that …", "the caller"`},
	{"for want of", regexp.MustCompile(`(?i)\bfor want of\b`), `"without", "because there is no …"`},
	{"any more", regexp.MustCompile(`(?i)\bany more\b`), `"no longer"`},
	{"who", regexp.MustCompile(`(?i)\b(and|but|in|only|than|to) who (can|has|may|must|reads|shows|writes)\b|^Who (can|has|may)\b|\nWho (can|has|may)\b`), `"a client that …", the right or option by its name`},
	{"if not said", regexp.MustCompile(`(?i)\bif not said\b`), `"by default", "without limit="`},
	{"behind ", regexp.MustCompile(`(?i)\bbehind (its|the|their) (cell|column|first|key|last|marker|next|prefix|row|token|version)\b`), `"after" for what comes later in an order`},
	{"that ", regexp.MustCompile(`^that (are|had|has|have|is|was|were)\b`), `a comment that is understood without the name before it`},
	{" so", regexp.MustCompile(`(?i)\b(compares?|begins?) so\b`), `the comparison, or the beginning, by its name`},
}

// Pages, comments, messages and help are in plain English: they have none of the
// phrases. Decision records and the changelog's released versions stay as they are.
func TestPlainEnglish(t *testing.T) {
	checked := 0
	for _, file := range tracked(t) {
		for _, p := range paragraphs(t, file) {
			checked++
			checkEnglish(t, file, p)
		}
	}
	if checked < 5000 {
		t.Errorf("only %d paragraphs and comments were found", checked)
	}
}

func checkEnglish(t *testing.T, file string, p paragraph) {
	lower := strings.ToLower(p.text)
	for _, ph := range phrases {
		if !strings.Contains(lower, ph.word) {
			continue
		}
		if found := ph.re.FindString(p.text); found != "" {
			t.Errorf("%s:%d: %q; write %s", file, p.line, strings.TrimSpace(found), ph.instead)
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

func isLeftOut(file string) bool {
	if strings.HasSuffix(file, ".md") {
		return strings.HasPrefix(file, "docs/decisions/")
	}
	return file == "" || file == "docs/english_test.go"
}

// A paragraph is a line of a page, a comment, or a string of the product.
type paragraph struct {
	line int // where it begins, counted from 1
	text string
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

// prose is the lines of a page outside of fenced blocks, up to the first version that
// was released.
func prose(text string) (found []paragraph) {
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "## [0.1.0]"):
			return found
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced && line != "":
			found = append(found, paragraph{i + 1, line})
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
		found = append(found, paragraph{files.Position(c.Pos()).Line, strings.Join(strings.Fields(c.Text()), " ")})
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
			found = append(found, paragraph{files.Position(lit.Pos()).Line, text})
		}
		return true
	})
	return found
}
