package console

import (
	"html/template"
	"io"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/server"
)

// The templates escape as those of Go's html/template: each action in a page gets the same
// functions at its end, which depend on the place where it stands.
func TestTemplatesEscapeAsGosDo(t *testing.T) {
	escapers := 0
	for name, page := range templates().pages {
		gos := template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
		_ = gos.ExecuteTemplate(io.Discard, "layout", layout{Page: 0}) // escapes, and then finds no page to show
		_ = page.ExecuteTemplate(io.Discard, "layout", layout{Page: 0})
		for _, want := range gos.Templates() {
			if want.Tree == nil {
				continue
			}
			got := page.Lookup(want.Name())
			if got == nil || got.Tree == nil {
				t.Errorf("%s has no template %s", name, want.Name())
			} else if got, want := got.Tree.Root.String(), want.Tree.Root.String(); got != want {
				t.Errorf("%s escapes as\n%s\nwant\n%s", name, got, want)
			}
			escapers += strings.Count(want.Tree.Root.String(), "_html_template_")
		}
	}
	if escapers < 100 {
		t.Errorf("the pages have %d calls of escaping functions, want 100 or more", escapers)
	}
}

// An estimate from before the first cells came is unknown, and not zero.
func TestAnOldEstimateOfNothingIsUnknown(t *testing.T) {
	none, some := 0.0, 7.0
	for _, c := range []struct {
		table server.HistoryTable
		want  *float64
	}{
		{server.HistoryTable{Rows: &none}, &none},
		{server.HistoryTable{Rows: &none, Cells: 24}, nil},
		{server.HistoryTable{Rows: &some, Cells: 24}, &some},
		{server.HistoryTable{Cells: 24}, nil},
	} {
		if got := knownRows(c.table); got != c.want {
			t.Errorf("%+v: %v; want %v", c.table, got, c.want)
		}
	}
}
