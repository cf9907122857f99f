package sql_test

import (
	"os"
	"strings"
	"testing"
)

// The rows of GoogleSQL's own tables of FORMAT, LIKE, UPPER, LOWER, JSON_QUERY and
// JSON_VALUE: an expression, and its value.
func TestTablesOfGoogleSQL(t *testing.T) {
	text, err := os.ReadFile("testdata/googlesql.txt")
	if err != nil {
		t.Fatal(err)
	}
	db := openPlanes(t)
	rows := 0
	for line := range strings.Lines(string(text)) {
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
	if rows < 700 {
		t.Errorf("the table has %d rows", rows)
	}
}

// lenient reports whether smolwc takes what GoogleSQL refuses: a whole number for %f.
func lenient(expr string) bool {
	return strings.HasPrefix(expr, `FORMAT("%f", `) || strings.HasPrefix(expr, `FORMAT("%e", `) || strings.HasPrefix(expr, `FORMAT("%g", `)
}
