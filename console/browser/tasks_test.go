package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A task is something that somebody wants to do, with the clicks that it may take.
type task struct {
	name string
	most int // clicks
	do   func(*worker)
}

// A worker does tasks, and counts the clicks.
type worker struct {
	*tab
	clicks int
}

// click clicks on what a selector or an XPath names.
func (w *worker) click(what string) {
	w.t.Helper()
	w.clicks++
	w.run(chromedp.WaitVisible(what), chromedp.Click(what))
}

// fill gives the first visible field that a selector names a text.
func (w *worker) fill(what, text string) {
	w.t.Helper()
	w.run(chromedp.WaitReady(what))
	eval[any](w.tab, `(e => { e.focus(); e.value = %s; e.dispatchEvent(new Event("input", {bubbles: true})); })(document.querySelector(%s)); 0`, text, what)
}

// sees waits until a text is on the page.
func (w *worker) sees(what, text string) {
	w.t.Helper()
	until(w.t, fmt.Sprintf("%s has %q", what, text), func() bool {
		return strings.Contains(glance[string](w.tab, `[...document.querySelectorAll(%s)].map(e => e.innerText).join("\n")`, what), text)
	})
}

const seats = `//tr[.//a[text()="plane#N223AG"]]/td[2]/a`

// tenTasks are what people come for, one after the other, without a look at the
// documentation.
var tasks = []task{
	{"find a row", 0, func(w *worker) {
		w.open("/")
		w.press("k", input.ModifierCtrl)
		w.fill("#jump-to", "fleet plane#N223AG")
		w.press(kb.Enter)
		w.sees("h1", "plane#N223AG")
	}},
	{"filter rows", 3, func(w *worker) {
		w.open("/")
		w.click(`//nav//a[text()="fleet"]`)
		w.click(`//summary[starts-with(., "Conditions")]`)
		w.fill("[name=on]", "delay:dep")
		eval[any](w.tab, `document.querySelector("[name=op]").value = ">"; 0`)
		w.fill("[name=value]", "100")
		w.click(`//button[text()="Show"]`)
		w.sees(".statement summary", "where delay:dep > 100")
		if text := eval[string](w.tab, `(i => [...document.querySelectorAll("#rows tbody tr")].map(r => r.cells[i + 1].innerText).filter(t => !(parseInt(t) > 100)).join())([...document.querySelectorAll("#rows thead tr:last-child th")].findIndex(h => h.innerText === "dep"))`); text != "" {
			w.t.Errorf("rows with other delays are shown: %.200s", text)
		}
	}},
	{"edit a cell", 4, func(w *worker) {
		w.open("/tables/fleet?prefix=plane%23")
		w.click(seats)
		w.click(`//aside//a[text()="Edit"]`)
		w.fill("#side [name=value]", "201")
		w.click(`//aside//button[text()="Show the statement"]`)
		w.sees("#side pre", "meta:seats=201")
		w.click(`//aside//button[text()="Run it"]`)
		w.sees("#rows", "201")
	}},
	{"undo the edit", 1, func(w *worker) {
		w.click(`//aside//button[text()="Undo"]`)
		w.sees("#rows", "151")
		w.sees("#side .done", "put 1 cell")
	}},
	{"create a table", 2, func(w *worker) {
		w.open("/")
		w.click(`//a[text()="Create a table"]`)
		w.fill("[name=table]", "logbook")
		w.fill("[name=family]", "note")
		w.fill("[name=max_versions]", "3")
		w.click(`//button[text()="Create the table"]`)
		w.sees(".done", "created table logbook")
		w.sees("#frame", "logbook")
	}},
	{"import a file", 3, func(w *worker) {
		w.open("/")
		w.click(`//a[text()="Import a file"]`)
		w.fill("[name=table]", "crew")
		file := filepath.Join(w.t.TempDir(), "crew.csv")
		if err := os.WriteFile(file, []byte("id;name;since\n7;Ada;2019-04-01\n8;Lin;2021-11-30\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
		w.run(chromedp.SetUploadFiles("[name=file]", []string{file}))
		w.click(`//button[text()="Look at the file"]`)
		w.sees("#outcome", "create table crew")
		w.sees("#outcome tbody", "Ada")
		w.click(`//button[text()="Import"]`)
		w.sees("#outcome .done", "imported 2 rows, 4 cells")
	}},
	{"drop it and bring it back", 4, func(w *worker) {
		w.open("/tables/logbook/schema")
		w.click(`//button[text()="Drop logbook…"]`)
		w.click(`//button[text()="Do it"]`)
		w.sees(".done", "logbook")
		w.click(`//button[text()="Bring logbook back"]`)
		w.sees("#frame .tables", "logbook")
	}},
	{"run a query and save it", 3, func(w *worker) {
		w.open("/query")
		w.fill("#q", "count fleet;\nselect loc['dest'] as dest, count(*) as flights, cast(null as string) as nothing from fleet where _key like 'flight#%' group by dest limit 5;\n")
		eval[any](w.tab, `document.querySelector("#q").setSelectionRange(40, 40); 0`)
		w.press(kb.Enter, input.ModifierCtrl)
		w.sees("#result", "flights")
		w.sees("#result .null", "NULL")
		w.click(`//summary[text()="History and saved queries"]`)
		w.fill("#save-as", "destinations")
		w.click(`#save`)
		w.open("/query")
		w.click(`//summary[text()="History and saved queries"]`)
		w.sees("#saved", "destinations")
		w.sees("#ran", "select loc['dest'] as dest")
	}},
	{"read a plan", 1, func(w *worker) {
		w.open("/query")
		w.fill("#q", "scan fleet prefix=plane# where meta:seats > 100")
		w.click(`//button[text()="Explain"]`)
		w.sees("#result", "meta:seats > 100")
		w.sees("#result .tree > li > ul", "read")
	}},
	{"draw a result", 2, func(w *worker) {
		w.open("/query")
		w.fill("#q", "select loc['dest'] as dest, count(*) as flights from fleet group by dest order by flights desc limit 12")
		w.press(kb.Enter, input.ModifierCtrl)
		w.click(`//summary[text()="Draw"]`)
		w.run(chromedp.WaitVisible("#draw canvas"))
	}},
	{"see whether the backup is good", 4, func(w *worker) {
		w.open("/")
		w.click(`//nav//a[text()="Backups"]`)
		w.sees("main tbody", "not verified")
		w.click(`//button[text()="Verify…"]`)
		w.click(`//button[text()="Do it"]`)
		w.sees("#work", "every byte is as it was written")
		w.click(`//section[@id="work"]//a[text()="Look again"]`)
		w.sees("main tbody", "verified")
	}},
	{"find the hot row", 2, func(w *worker) {
		for range 3 {
			w.open("/tables/fleet/row?key=plane%23N223AG")
		}
		w.click(`//nav//a[text()="Heat"]`)
		w.sees("main tbody", "plane#N223AG")
		w.click(`//main//tbody//a[text()="plane#N223AG"]`)
		w.sees("h1", "plane#N223AG")
	}},
	{"see whether all is well", 1, func(w *worker) {
		w.open("/")
		w.sees("#frame", "ready")
		w.sees(".figures", "Errors")
		w.click(`//ul[@class="figures"]//a[contains(., "Errors")]`)
		w.sees("#errors", "Calls with an error")
	}},
}

// tenTasks does the tasks, and says how many clicks each takes.
func tenTasks(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.look(looks[0])
	for _, job := range tasks {
		w := &worker{tab: b}
		job.do(w)
		t.Logf("%s: %d clicks", job.name, w.clicks)
		if w.clicks > job.most {
			t.Errorf("%s takes %d clicks; want up to %d", job.name, w.clicks, job.most)
		}
		if t.Failed() {
			return
		}
	}
}
