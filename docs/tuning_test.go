package docs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// The example of a tuning is valid, and has the expected meaning.
func TestTuningExample(t *testing.T) {
	b := blocks(t, "docs/tuning.md", "yaml")[0]
	s, err := schema.Parse([]byte(b.text()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Tables[0].Families {
		got = append(got, f.String())
	}
	if want := "meta block_size=4KiB; image compression=none blob_min_size=64KiB"; strings.Join(got, "; ") != want {
		t.Errorf("got %s", strings.Join(got, "; "))
	}
}

// The error of a stalled write has the text that the page shows.
func TestStallErrorOnThePage(t *testing.T) {
	err := &cf.StallError{State: cf.Stopped, Family: "t/f", Pending: 1 << 30, Files: 36, Err: context.DeadlineExceeded}
	if text := read(t, "docs/tuning.md"); !strings.Contains(text, `apply t "r1": `+err.Error()+"\n") {
		t.Errorf("the page does not have: %v", err)
	}
}
