package browser

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "write the pictures of the documentation to `DIR`")

// TestConsole walks through the console in a browser.
func TestConsole(t *testing.T) {
	if chromium() == "" {
		t.Skip("SKIPPED: the console was not tried in a browser, since chromium is not installed; $CHROMIUM can name one")
	}
	at := newSite(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *site)
	}{
		{"faults are seen", faultsAreSeen},
		{"hostile keys and values", hostile},
		{"every page", everyPage},
		{"ten tasks", tenTasks},
		{"by keyboard", byKeyboard},
		{"changes by keyboard", changesByKeyboard},
		{"a table as it was", asItWas},
		{"widths of columns", widths},
		{"drawn results", drawn},
		{"the back button", backButton},
		{"stop", stop},
		{"a closed tab", closedTab},
		{"charts for long", chartsForLong},
		{"pictures", pictures},
		{"a cell in two tabs", twoTabs},
		{"what is typed stays", whatIsTypedStays},
	} {
		t.Run(step.name, func(t *testing.T) {
			at.t = t
			step.run(t, at)
		})
	}
}

// faultsAreSeen makes faults on a page, which the test must see.
func faultsAreSeen(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.open("/")
	for _, fault := range []struct{ script, complaint string }{
		{`document.body.insertAdjacentHTML("beforeend", "<p style='color:red'>x</p>")`, "Content Security Policy"},
		{`document.body.append(Object.assign(document.createElement("script"), {textContent: "1"}))`, "Content Security Policy"},
		{`document.body.append(Object.assign(document.createElement("img"), {src: "https://example.com/x.png"}))`, "Content Security Policy"},
		{`console.error("oh no")`, "oh no"},
		{`setTimeout(() => { throw new Error("thrown") })`, "thrown"},
		{`setTimeout(() => alert("a dialog"))`, "a dialog"},
	} {
		b.expect(fault.complaint)
		eval[any](b, fault.script+"; 0")
		until(t, fault.complaint, b.complained)
	}
	b.expect("")
	eval[any](b, `document.querySelector("main").append(Object.assign(document.createElement("img"), {src: "/static/icon.svg"})); 0`)
	if found := b.findings(); len(found) != 1 || found[0].ID != "image-alt" {
		t.Errorf("axe-core finds %v on a page with a picture that has no text", found)
	}
}

// hostileTexts are keys, qualifiers and values that are text on each page.
var hostileTexts = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'); alert(1); ('`, "\u202eright to left\u202c \u05d0\u05d1", `nul\x00here`,
	`</textarea><script>alert(1)</script>`, `javascript:alert(1)`, `{{.}}`, `%00%0a`, `a/../b?c#d`,
}

// field is the form in which a person types a text that the notation would read otherwise.
func field(text string) string {
	if strings.Contains(text, `\x00`) || strings.HasPrefix(text, `"`) {
		return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
	}
	return text
}

// hostile writes rows by the form of a cell, and looks at them on each page.
func hostile(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	put := func(key, qualifier, value string) {
		t.Helper()
		b.open("/tables/fleet/edit")
		eval[any](b, `for (const [name, value] of [["key", %s], ["qualifier", %s], ["family", "meta"], ["value", %s]]) document.querySelector("main [name=" + name + "]").value = value`, key, qualifier, value)
		// Not by the mouse: a page that gets the focus may move between its look at the place and the click.
		eval[any](b, `document.querySelector("form.fields button").click(); 0`)
		b.run(chromedp.WaitVisible(`//button[text()="Run it"]`))
		eval[any](b, `document.querySelector("form[action$='/change'] button").click(); 0`)
		b.run(chromedp.WaitVisible("main .done, main .failure"))
		if text := eval[string](b, `document.querySelector("main").innerText`); !strings.Contains(text, "put 1 cell") {
			t.Fatalf("%s: %.300s", key, text)
		}
	}
	for _, text := range hostileTexts {
		put(field(text), field(text), text)
	}
	large := strings.Repeat("<b>&", 1<<18)
	put("large", "value", large)
	for _, path := range []string{"/tables/fleet?limit=100", "/tables/fleet/row?key=large", "/tables/fleet/cell?key=large&family=meta&qualifier=value"} {
		b.open(path)
	}
	if n := eval[int](b, `document.querySelector("pre").textContent.length`); n < 1000 {
		t.Errorf("the large value has %d characters on its page", n)
	}
	for _, text := range hostileTexts {
		key := strings.ReplaceAll(text, `\x00`, "\x00")
		b.open("/tables/fleet/row?" + url.Values{"key": {key}}.Encode())
		if n := eval[int](b, `document.querySelectorAll("main script, main img, main iframe").length`); n > 0 {
			t.Errorf("%q has become markup", text)
		}
		b.run(chromedp.Click("tbody th a"), chromedp.WaitVisible(".history"))
		if strings.Contains(text, "script") && !strings.Contains(eval[string](b, `document.querySelector("main").innerText`), text) {
			t.Errorf("the page does not show %q", text)
		}
		b.open("/query?" + url.Values{"q": {text}}.Encode())
	}
}

// pages are all pages, with the complaint of the browser that a page provokes.
var pages = []struct{ path, complaint string }{
	{"/", ""}, {"/tables/fleet", ""}, {"/tables/fleet?prefix=flight%23N223AG&limit=10", ""}, {"/tables/fleet?prefix=none", ""},
	{"/tables/fleet/row?key=plane%23N223AG", ""}, {"/tables/fleet/cell?key=plane%23N223AG&family=meta&qualifier=model", ""},
	{"/tables/fleet/schema", ""}, {"/tables/fleet/edit?key=plane%23N223AG&family=meta&qualifier=model", ""}, {"/query", ""}, {"/query?q=help", ""},
	{"/schema", ""}, {"/calls", ""}, {"/backups", ""}, {"/moment?table=fleet", ""}, {"/standbys", ""}, {"/tables/fleet/heat", ""}, {"/tables/fleet?on=delay%3Adep&op=%3E&value=100&show=delay%3Adep", ""},
	{"/charts", ""}, {"/charts?span=day", ""}, {"/charts?span=month", ""}, {"/login", ""}, {"/tables/none", "404"}, {"/tables/fleet?limit=x", "400"},
}

// everyPage looks at each page in each look: the browser has nothing to complain about,
// axe-core finds nothing serious in two of them, and no page is wider than the window.
func everyPage(t *testing.T, at *site) {
	until(t, "a sample of the metrics", func() bool { return at.metric(`smolwc_table_cells\{[^}]*\}`) > 0 })
	b := at.tab(t)
	defer b.close()
	for _, l := range looks {
		b.look(l)
		for _, p := range pages {
			b.expect(p.complaint)
			b.open(p.path)
			if strings.HasPrefix(p.path, "/charts") {
				b.run(chromedp.WaitVisible(".uplot canvas"))
				eval[any](b, `document.querySelectorAll("details").forEach(d => { d.open = true }); 0`)
			}
			if wide := eval[int](b, "document.documentElement.scrollWidth - window.innerWidth"); wide > 0 {
				t.Errorf("%s, %s: the page is %d px wider than the window", p.path, l.name, wide)
			}
			if !l.judged {
				continue
			}
			for _, f := range b.findings() {
				t.Errorf("%s, %s: %s (%s): %s\n%+v", p.path, l.name, f.ID, f.Impact, f.Help, f.Nodes[:min(2, len(f.Nodes))])
			}
		}
		b.expect("")
	}
}

// press presses a key as a person does.
func (b *tab) press(key string, modifiers ...input.Modifier) {
	b.t.Helper()
	if key != kb.Enter {
		b.run(chromedp.KeyEvent(key, chromedp.KeyModifiers(modifiers...)))
		return
	}
	// The driver would send the line end as an event of its own, which no page can prevent.
	down := input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13).WithText("\r")
	up := input.DispatchKeyEvent(input.KeyUp).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13)
	for _, m := range modifiers {
		down, up = down.WithModifiers(m), up.WithModifiers(m)
	}
	b.run(down, up)
}

// focus is the text or the name of what has the focus.
func (b *tab) focus() string {
	return eval[string](b, `(e => e.id || e.getAttribute("aria-label") || e.name || e.innerText || "")(document.activeElement)`)
}

// tabTo presses Tab until something has the focus.
func (b *tab) tabTo(name string) {
	b.t.Helper()
	var seen []string
	for range 60 {
		b.press(kb.Tab)
		if seen = append(seen, b.focus()); seen[len(seen)-1] == name {
			if outline := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
				b.t.Errorf("nothing shows that %s has the focus", name)
			}
			return
		}
	}
	b.t.Fatalf("Tab does not lead to %s, but to %q", name, seen)
}

// byKeyboard goes from the first page to the result of a statement without a mouse.
func byKeyboard(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.look(looks[0])
	b.open("/")
	b.press(kb.Tab)
	if got := b.focus(); got != "To the content" {
		t.Errorf("the first Tab leads to %q", got)
	}
	b.press(kb.Enter)
	if got := b.focus(); got != "content" {
		t.Errorf("the link to the content leads to %q", got)
	}
	b.tabTo("fleet")
	b.press(kb.Enter)
	b.run(chromedp.WaitVisible("form.choice"))
	b.tabTo("prefix")
	b.run(chromedp.KeyEvent("plane#"))
	b.press(kb.Enter)
	b.run(chromedp.WaitVisible(`//a[text()="plane#N223AG"]`))
	b.tabTo("Rows")
	b.open("/")
	b.tabTo("Query")
	b.press(kb.Enter)
	b.run(chromedp.WaitVisible("#statement"))
	b.tabTo("statement")
	b.run(chromedp.KeyEvent("sca"), chromedp.WaitVisible(".cm-tooltip li"))
	for _, f := range b.findings() {
		t.Errorf("with proposed words: %s: %s", f.ID, f.Help)
	}
	b.press(kb.Tab) // takes the word
	b.run(chromedp.KeyEvent("fl"), chromedp.WaitVisible(".cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled) li"))
	b.press(kb.ArrowDown)
	b.press(kb.Enter)
	b.run(chromedp.KeyEvent("prefix=plane# "))
	b.press(kb.Escape)
	b.press(kb.Enter, input.ModifierCtrl)
	b.run(chromedp.WaitVisible("#result .note, #result .failure"))
	if text := eval[string](b, `document.querySelector("#q").value + "|" + document.querySelector("#result").innerText`); !strings.HasPrefix(text, "scan fleet prefix=plane# |") || !strings.Contains(text, "Boeing 737") {
		t.Errorf("the statement and its result are %.300s", text)
	}
	for _, f := range b.findings() {
		t.Errorf("with a result: %s: %s %+v", f.ID, f.Help, f.Nodes)
	}
}

const queriesUnderWay = `smolwc_calls_in_flight\{method="google.bigtable.v2.Bigtable/ExecuteQuery"\}`

// stop stops a long statement by the button: the server ends it.
func stop(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.open("/query")
	b.run(chromedp.SendKeys("#statement", "select count(*) as n from fleet, unnest(generate_array(1, 1000000)) as i"), chromedp.Click(`//button[text()="Run"]`), chromedp.WaitEnabled("#stop"))
	until(t, "the query runs", func() bool { return at.metric(queriesUnderWay) == 1 })
	b.expect("htmx:") // it tells the console that it was stopped
	b.run(chromedp.Click("#stop"))
	until(t, "the query ends", func() bool { return at.metric(queriesUnderWay) == 0 })
	b.run(chromedp.WaitNotPresent("#stop:enabled"))
}

// closedTab closes a tab that reads a long result: the server keeps nothing for it.
func closedTab(t *testing.T, at *site) {
	until(t, "no cursor is open", func() bool { return at.metric("smolwc_store_open_cursors") == 0 })
	b := at.tab(t)
	b.open("/query")
	eval[any](b, `window.reading = fetch("/query", {method: "POST", body: new URLSearchParams({q: "scan fleet", as: "csv", form: document.querySelector("[name=form]").value})}).then(r => { window.answer = r; return r.status })`)
	until(t, "a cursor is open", func() bool { return at.metric("smolwc_store_open_cursors") > 0 })
	if err := chromedp.Run(b.ctx, page.Close()); err != nil {
		t.Fatal(err)
	}
	b.close()
	until(t, "the cursor is closed", func() bool { return at.metric("smolwc_store_open_cursors") == 0 })
}

// chartsForLong refreshes the charts many times: the browser's memory does not grow.
func chartsForLong(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.look(looks[0])
	b.open("/charts")
	b.run(chromedp.WaitVisible(".uplot canvas"))
	eval[any](b, `document.querySelectorAll("details.theme").forEach(d => { d.open = true }); 0`)
	measure := func() (bytes float64, nodes int64) {
		b.run(chromedp.ActionFunc(func(ctx context.Context) error {
			if err := heapprofiler.CollectGarbage().Do(ctx); err != nil {
				return err
			}
			used, _, _, _, err := runtime.GetHeapUsage().Do(ctx)
			if err != nil {
				return err
			}
			_, nodes, _, err = memory.GetDOMCounters().Do(ctx)
			bytes = used
			return err
		}))
		return bytes, nodes
	}
	refresh := func(n int) {
		if got := eval[int](b, fmt.Sprintf("(async () => { for (let i = 0; i < %d; i++) await refreshCharts(); return document.querySelectorAll('.uplot').length })()", n)); got < 20 {
			t.Fatalf("there are %d charts", got)
		}
	}
	refresh(50)
	bytes, nodes := measure()
	refresh(500)
	after, nodesAfter := measure()
	t.Logf("%.0f KiB and %d nodes before, %.0f KiB and %d nodes after 500 refreshes", bytes/1024, nodes, after/1024, nodesAfter)
	// New samples come meanwhile; a leak of a chart's data in each refresh would be more.
	if after > bytes+1<<20 || nodesAfter > nodes+200 {
		t.Errorf("the page grows: from %.0f to %.0f bytes, from %d to %d nodes", bytes, after, nodes, nodesAfter)
	}
}

// mostPicture is the size of a picture in the documentation.
const mostPicture = 100 << 10

// pictures takes the pictures of the documentation.
func pictures(t *testing.T, at *site) {
	if *shots == "" {
		t.Skip("-shots DIR writes them")
	}
	b := at.tab(t)
	defer b.close()
	until(t, "the overview has figures", func() bool {
		b.open("/")
		return glance[bool](b, `!!document.querySelector(".figures polyline") && !!document.querySelector(".count")`)
	})
	for _, p := range []struct {
		name, path string
		look       look
		before     []chromedp.Action
	}{
		{"console-overview", "/", look{"", 1100, 560, "light", false}, nil},
		{"console-rows", "/tables/fleet?prefix=flight%23N2&limit=40", look{"", 1100, 460, "light", false}, nil},
		{"console-cell", "/tables/fleet?prefix=plane%23", look{"", 1100, 620, "light", false},
			[]chromedp.Action{chromedp.Click(`#rows td a.cell`), chromedp.WaitVisible("#side .history")}},
		{"console-phone", "/tables/fleet?prefix=flight%23N2&limit=40", look{"", 390, 620, "dark", false}, nil},
		{"console-query", "/query?q=select+loc%5B%27dest%27%5D+as+dest%2C+count%28*%29+as+flights+from+fleet+group+by+dest+order+by+flights+desc+limit+6", look{"", 1100, 960, "dark", false},
			[]chromedp.Action{chromedp.Click(`//button[text()="Run"]`), chromedp.WaitVisible("#draw summary"), chromedp.Click("#draw summary"), chromedp.WaitVisible("#draw canvas")}},
		{"console-heat", "/tables/fleet/heat?hours=1", look{"", 1100, 620, "light", false}, []chromedp.Action{chromedp.WaitVisible("#heat"), chromedp.Focus("#heat"), chromedp.KeyEvent(kb.ArrowRight), chromedp.WaitVisible("#heat-rows")}},
		{"console-charts", "/charts", look{"", 1100, 620, "dark", false}, []chromedp.Action{chromedp.WaitVisible(".uplot canvas")}},
	} {
		b.look(p.look)
		b.open(p.path)
		b.run(p.before...)
		var png []byte
		b.run(chromedp.CaptureScreenshot(&png))
		if len(png) > mostPicture {
			t.Errorf("%s has %d bytes", p.name, len(png))
		}
		if err := os.WriteFile(filepath.Join(*shots, p.name+".png"), png, 0o644); err != nil {
			t.Error(err)
		}
	}
}
