package console_test

import (
	"flag"
	"fmt"
	"html"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
)

var speed = flag.Bool("speed", false, "measure how long pages take, and what they weigh")

// TestSpeed measures pages of a warm server: the median of many requests. bench/NOTEBOOK.md
// has the figures. It fails only beyond the targets, and only when it is asked for.
func TestSpeed(t *testing.T) {
	if !*speed {
		t.Skip("-speed measures; a machine with other work fails it")
	}
	at := newSite(t, nil)
	for i := range 1000 {
		m := write.NewMutation()
		for j := range 10 {
			m.SetAt("meta", fmt.Sprintf("column%d", j), 1, cells.String("a value of some length"))
		}
		if err := at.db.Table("fleet").Apply(t.Context(), fmt.Sprintf("plane#%04d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	for part := range 100 { // a million cells
		m := write.NewMutation()
		for j := range 10_000 {
			m.SetAt("f", fmt.Sprintf("%07d", 10_000*part+j), 1, cells.I64(int64(j)))
		}
		if err := at.db.Table("secret").Apply(t.Context(), "wide", m); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []struct {
		what string
		most time.Duration
		get  func() int
	}{
		{"the first page with its files", 50 * time.Millisecond, at.firstPage},
		{"a page of 100 rows of 10 cells", 30 * time.Millisecond, func() int { return len(at.must("/tables/fleet?limit=100")) }},
		{"the first 200 of a million columns of a row", 30 * time.Millisecond, func() int { return len(at.must("/tables/secret/row?key=wide")) }},
		{"a page of rows with the row of a million cells", 30 * time.Millisecond, func() int { return len(at.must("/tables/secret")) }},
	} {
		size := p.get()
		var took []time.Duration
		for range 51 {
			begun := time.Now()
			p.get()
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		median := took[len(took)/2]
		t.Logf("%s: %v (%v to %v), %d KiB", p.what, median.Round(10*time.Microsecond), took[0].Round(10*time.Microsecond), took[len(took)-1].Round(10*time.Microsecond), size>>10)
		if median > p.most {
			t.Errorf("%s takes %v; the target is %v", p.what, median, p.most)
		}
	}
}

// firstPage loads the first page and its files, and returns their size.
func (at *site) firstPage() int {
	at.t.Helper()
	text := at.must("/")
	size := len(text)
	for _, found := range regexp.MustCompile(`(?:src|href)="(/static/[^"]*)"`).FindAllStringSubmatch(text, -1) {
		size += len(at.must(html.UnescapeString(found[1])))
	}
	return size
}
