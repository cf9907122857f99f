package docs_test

import (
	"strings"
	"testing"
)

// snippets are the pages whose Go code is part of files that are compiled and run.
var snippets = map[string][]string{
	"README.md":              {"query/example_test.go"},
	"docs/changes.md":        {"query/example_changes_test.go"},
	"docs/start-emulator.md": {"server/example_newtest_test.go"},
	"docs/start-go.md":       {"docs/examples/first/main.go"},
	"docs/from-bigtable.md":  {"query/example_test.go", "query/example_write_test.go"},
}

// The Go code on these pages is in its files, whatever its indentation.
func TestSnippetsAreInPrograms(t *testing.T) {
	for page, files := range snippets {
		var code strings.Builder
		for _, file := range files {
			code.WriteString(strings.ReplaceAll(read(t, file), "\t", ""))
		}
		for _, b := range blocks(t, page, "go") {
			if !strings.Contains(code.String(), strings.ReplaceAll(b.text(), "\t", "")) {
				t.Errorf("%s:%d: the code is not in %v", b.page, b.line, files)
			}
		}
	}
}
