package docs_test

import (
	"strings"
	"testing"
)

// The code on the page of filters, and its output, are from examples that are compiled
// and run.
func TestFilterSnippetsAreExamples(t *testing.T) {
	const page = "docs/filters.md"
	examples := read(t, "query/example_filter_test.go")
	for info, indent := range map[string]string{"go": "\t", "": "\t// "} {
		for _, b := range blocks(t, page, info) {
			var text strings.Builder
			for _, line := range b.lines {
				if line != "" {
					text.WriteString(indent)
				}
				text.WriteString(line + "\n")
			}
			if !strings.Contains(examples, text.String()) {
				t.Errorf("%s:%d: the block is not in an example", page, b.line)
			}
		}
	}
}
