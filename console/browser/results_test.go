package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// widths gives a column another width: it stays with the next page, not with another table, and
// a double click takes it back.
func widths(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.look(looks[0])
	const page, width = "/tables/fleet?prefix=plane%23", `Math.round(document.querySelector("[data-column='meta:model']").getBoundingClientRect().width)`
	b.open(page)
	before := eval[int](b, width)
	place := func() (x, y float64) {
		at := eval[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector("[data-column='meta:model'] .grip").getBoundingClientRect())`)
		return at[0], at[1]
	}
	x, y := place()
	drag := func(by float64) {
		b.run(chromedp.MouseEvent(input.MousePressed, x, y, chromedp.ButtonLeft), chromedp.MouseEvent(input.MouseMoved, x+by/2, y, chromedp.ButtonLeft),
			chromedp.MouseEvent(input.MouseMoved, x+by, y, chromedp.ButtonLeft), chromedp.MouseEvent(input.MouseReleased, x+by, y, chromedp.ButtonLeft))
	}
	drag(90)
	if got := eval[int](b, width); got < before+80 || got > before+100 {
		t.Errorf("the column of %d px has %d after a drag by 90", before, got)
	}
	b.open(page + "&limit=10")
	if got := eval[int](b, width); got < before+80 {
		t.Errorf("on the next page it has %d px", got)
	}
	if cell := eval[int](b, `Math.round(document.querySelector("#rows tbody td").getBoundingClientRect().width)`); cell < before+80 {
		t.Errorf("its cells have %d px", cell)
	}
	eval[any](b, `document.querySelector("[data-column='meta:model'] .grip").focus(); 0`)
	b.press(kb.ArrowLeft)
	if got := eval[int](b, width); got > before+80 {
		t.Errorf("the arrow makes it %d px", got)
	}
	b.press(kb.Home)
	if got := eval[int](b, width); got > before+2 || got < before-2 {
		t.Errorf("Home makes it %d px; it had %d", got, before)
	}
	if kept := eval[string](b, `localStorage.getItem("smolwc.widths.fleet")`); kept != "{}" {
		t.Errorf("the browser keeps %s", kept)
	}
	x, y = place()
	drag(-2000)
	if got := eval[int](b, width); got < 40 || got > 60 {
		t.Errorf("the least width is %d px", got)
	}
	b.press(kb.Escape)
	eval[any](b, `localStorage.clear(); 0`)
	for _, f := range b.findings() {
		t.Errorf("%s: %s", f.ID, f.Help)
	}
}

// A drawing is a result's chart: the values of its series, and the ends of its
// axis of numbers.
type drawing struct {
	Series [][]*float64 `json:"series"`
	Low    float64
	High   float64
	Axes   []string
	Note   string
}

const drawnNow = `(() => { const u = document.querySelector("#draw .uplot") && window.drawn(); return { series: u.data.slice(1).map((s) => [...s].map((v) => v === undefined ? null : v)), low: u.scales.y.min, high: u.scales.y.max, axes: u.axes.map((a) => a.label || ""), note: document.querySelector("#draw [role=status]").textContent }; })()`

// drawn draws results: bars begin at zero, NULLs are gaps, and axes are labelled.
func drawn(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.look(looks[0])
	draw := func(query string) {
		b.open("/query")
		w := &worker{tab: b}
		w.fill("#q", query)
		b.press(kb.Enter, input.ModifierCtrl)
		b.run(chromedp.WaitVisible("#draw summary"), chromedp.Click("#draw summary"), chromedp.WaitVisible("#draw canvas"))
	}
	draw("select x, y, z from unnest([struct('a' as x, 100 as y, 5 as z), struct('b', null, 6), struct('c', 103, 7)])")
	got := eval[drawing](b, drawnNow)
	if len(got.Series) != 1 || got.Series[0][1] != nil || *got.Series[0][2] != 103 || got.Low != 0 || got.High < 103 {
		t.Errorf("bars are %+v", got)
	}
	if strings.Join(got.Axes, " ") != "x y" || !strings.Contains(got.Note, "1 NULL is a gap") {
		t.Errorf("the axes are %q, and the note is %q", got.Axes, got.Note)
	}
	for _, f := range b.findings() {
		t.Errorf("%s: %s %+v", f.ID, f.Help, f.Nodes)
	}
	// A second column stands beside the first.
	b.run(chromedp.Click(`//details[@id="draw"]//label[contains(., "z")]/input`))
	if got := eval[drawing](b, drawnNow); len(got.Series) != 2 || got.Low != 0 {
		t.Errorf("two columns are %+v", got)
	}
	// Negative numbers hang from zero.
	draw("select x, y from unnest([struct('a' as x, -3.5 as y), struct('b', -1)])")
	if got := eval[drawing](b, drawnNow); got.High != 0 || got.Low > -3.5 {
		t.Errorf("negative bars are %+v", got)
	}
	// Times are in their order, and with their distances.
	draw("select at, v from unnest([struct(timestamp '2024-01-03 00:00:00+00' as at, 3 as v), struct(timestamp '2024-01-01 00:00:00+00', 1), struct(timestamp '2024-01-02 00:00:00+00', null)])")
	got = eval[drawing](b, drawnNow)
	if len(got.Series) != 1 || *got.Series[0][0] != 1 || got.Series[0][1] != nil || *got.Series[0][2] != 3 || got.Axes[0] != "at (UTC)" {
		t.Errorf("a line is %+v", got)
	}
	for _, look := range looks[1:] {
		b.look(look)
		b.run(chromedp.WaitVisible("#draw canvas"))
		if wide := eval[int](b, "document.documentElement.scrollWidth - window.innerWidth"); wide > 0 {
			t.Errorf("%s: the page is %d px wider than the window", look.name, wide)
		}
	}
}

// backButton goes back from a cell to its grid, and not to the page before.
func backButton(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.look(looks[1])
	open := func() {
		b.run(chromedp.Click(seats), chromedp.WaitVisible("#side .history"))
	}
	closed := func() bool {
		return eval[bool](b, `document.querySelector("#side").hidden && location.search === "?prefix=plane%23"`)
	}
	b.open("/")
	b.open("/tables/fleet?prefix=plane%23")
	open()
	eval[any](b, `history.back(); 0`)
	until(t, "Back closes the cell", closed)
	open()
	b.press(kb.Escape)
	until(t, "Escape closes the cell", closed)
	open()
	b.run(chromedp.Click("#side .close"))
	until(t, "Close closes the cell", closed)
	eval[any](b, `history.back(); 0`)
	until(t, "Back goes to the page before", func() bool { return glance[bool](b, `location.pathname === "/"`) })
}
