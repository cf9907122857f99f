package sql_test

import (
	"testing"
)

// A mistake after NOT is an error, of whatever follows NOT.
func TestAMistakeAfterNotIsAnError(t *testing.T) {
	db := openPlanes(t)
	for _, of := range []string{"IN (SELECT 2)", "IN (", "IN UNNEST(", "BETWEEN 1", "BETWEEN 1 AND", "LIKE", "LIKE ("} {
		if _, err := db.run("SELECT 1 NOT " + of); err == nil {
			t.Errorf("NOT %s has no error", of)
		}
	}
}
