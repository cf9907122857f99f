package sql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FORMAT, LIKE, UPPER, LOWER, JSON_QUERY and JSON_VALUE: an expression, and its value. Any
// further table beside testdata/tables.txt, such as one made of GoogleSQL's own, is read too.
func TestTables(t *testing.T) {
	files, err := filepath.Glob("testdata/tables*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, name := range files {
		more, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(more)
	}
	db := openPlanes(t)
	rows := 0
	for line := range strings.Lines(text) {
		expr, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		rows++
		if want == "ERROR" {
			if got, err := db.run("SELECT " + expr); err == nil && !lenient(expr) {
				t.Errorf("%s is %q; GoogleSQL has an error", expr, got)
			}
			continue
		}
		if got, err := db.run("SELECT (" + expr + ") IS NOT DISTINCT FROM " + want); err != nil || got != "true" {
			got, _ := db.run("SELECT FORMAT('%T', " + expr + ")")
			t.Errorf("%s is %s, %v; GoogleSQL has %s", expr, got, err, want)
		}
	}
	if rows < 60 {
		t.Errorf("the table has %d rows", rows)
	}
}

// lenient reports whether smolwc takes what GoogleSQL refuses: a whole number for %f.
func lenient(expr string) bool {
	return strings.HasPrefix(expr, `FORMAT("%f", `) || strings.HasPrefix(expr, `FORMAT("%e", `) || strings.HasPrefix(expr, `FORMAT("%g", `)
}
