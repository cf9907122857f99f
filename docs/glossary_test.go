package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var term = regexp.MustCompile(`(?m)^\| \*\*([^*]+)\*\*.* \| .* \| ?(.*?) ?\|$`)

// The glossary is sorted, and no page uses the words that it rules out, except the pages
// for readers that know another system.
func TestOneWordForOneThing(t *testing.T) {
	var words, never []string
	for _, m := range term.FindAllStringSubmatch(read(t, "docs/glossary.md"), -1) {
		words = append(words, m[1])
		if m[2] != "" {
			never = append(never, strings.Split(m[2], ", ")...)
		}
	}
	if len(words) < 30 || len(never) < 8 || !slices.IsSorted(words) {
		t.Errorf("the glossary has %d words, sorted %v, and rules out %d", len(words), slices.IsSorted(words), len(never))
	}
	for _, page := range pages(t) {
		if page == "docs/glossary.md" || strings.HasPrefix(page, "docs/from-") || strings.HasPrefix(page, "docs/decisions/") || page == "CHANGELOG.md" {
			continue
		}
		text := strings.ToLower(read(t, page))
		for _, word := range never {
			if word = strings.ToLower(word); !strings.Contains(text, word) {
				continue
			}
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `s?\b`).MatchString(text) {
				t.Errorf("%s has %q, which the glossary rules out", page, word)
			}
		}
	}
}
