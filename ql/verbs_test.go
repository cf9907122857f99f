package ql_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/ql"
)

// A verb that is declared and missing in the list of verbs would never be parsed.
func TestEveryDeclaredVerbIsListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^var \w+ = verb\{\s*name: "(\w+)"`)
	var declared []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			declared = append(declared, m[1])
		}
	}
	slices.Sort(declared)
	if !slices.Equal(declared, ql.Verbs()) {
		t.Errorf("declared are %s; listed are %s", strings.Join(declared, " "), strings.Join(ql.Verbs(), " "))
	}
}

func TestEveryStatementHasHelp(t *testing.T) {
	for _, verb := range append(ql.Verbs(), "lookup", "deleterow") {
		if page, err := ql.HelpPage(verb); verb != "help" && (err != nil || page == "") {
			t.Errorf("help %s: %v", verb, err)
		}
	}
}

// Over the network a copy is written in batches, so its help must not promise that it is
// there as a whole.
func TestTheHelpOfCopySaysWhatAFailureLeaves(t *testing.T) {
	page, err := ql.HelpPage("copy")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(page), " ")
	for _, want := range []string{"At hand the copy is there as a whole or not at all", "a copy that fails leaves B with the rows up to a key"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help of copy does not say: %s\n%s", want, page)
		}
	}
}

// Patterns match bytes: with (?s), too, a dot is a byte of a character.
func TestTheHelpOfPatternsSaysThatADotIsAByte(t *testing.T) {
	page, err := ql.HelpPage("patterns")
	if err != nil || strings.Contains(page, "any character") || !strings.Contains(page, "(?s) makes . any byte") {
		t.Errorf("%v\n%s", err, page)
	}
}
