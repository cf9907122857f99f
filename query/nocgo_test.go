//go:build !cgo

package query_test

import (
	"errors"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// A build without cgo says how to get local databases.
func TestNoEngine(t *testing.T) {
	for name, open := range map[string]func() (*query.DB, error){
		"Open":         func() (*query.DB, error) { return query.Open(t.TempDir(), query.Options{}) },
		"OpenReadOnly": func() (*query.DB, error) { return query.OpenReadOnly(t.TempDir(), query.Options{}) },
		"OpenInMemory": func() (*query.DB, error) { return query.OpenInMemory(query.Options{}) },
	} {
		if db, err := open(); db != nil || !errors.Is(err, query.ErrNoEngine) || query.KindOf(err) != query.KindFailedPrecondition {
			t.Errorf("%s: %v, %v", name, db, err)
		}
	}
}
