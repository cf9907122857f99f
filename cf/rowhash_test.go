package cf_test

import (
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// The sample of a table must never change between versions.
func TestRowHashIsForever(t *testing.T) {
	for row, want := range map[string]string{"": "efd01f60ba992926", "a": "82a2a958a9bece5b", "plane#TF-FIR": "6b2aa595a453d185", "\x00\xff": "acb64f88d28b68b8"} {
		if got := fmt.Sprintf("%016x", cf.RowHash(row)); got != want {
			t.Errorf("hash of %q is %s, want %s", row, got, want)
		}
	}
}
