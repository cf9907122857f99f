package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A draft is a page that somebody has filled in.
type draft struct {
	name, path string
	fill       func(*worker)
	button     string // sends it
	typed      string // an expression
	want       string // typed before
	done       string // what the page says when it was sent
}

var drafts = []draft{
	{"a cell", "/tables/fleet?prefix=plane%23", func(w *worker) {
		w.click(seats)
		w.click(`//aside//a[text()="Edit"]`)
		w.fill("#side [name=value]", "222")
	}, `//aside//button[text()="Show the statement"]`, `document.querySelector("#side [name=value]").value`, "222", "meta:seats=222"},
	{"a table", "/schema", func(w *worker) {
		w.fill("[name=table]", "crew")
		w.fill("[name=family]", "days")
		w.fill("[name=max_age]", "30 days")
	}, `//button[text()="Create the table"]`, `["table", "family", "max_age"].map(n => document.querySelector("main [name=" + n + "]").value).join()`, "crew,days,30 days", "want one word"},
	{"a statement", "/query", func(w *worker) {
		w.fill("#q", "scan fleet prefix=plane#")
	}, `//button[text()="Run"]`, `document.querySelector("#q").value`, "scan fleet prefix=plane#", "plane#N223AG"},
	{"an import", "/import?table=crews", func(w *worker) {
		file := filepath.Join(w.t.TempDir(), "crew.csv")
		if err := os.WriteFile(file, []byte("id,name\n7,Ada\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
		w.run(chromedp.SetUploadFiles("[name=file]", []string{file}))
		w.click(`//button[text()="Look at the file"]`)
		w.run(chromedp.WaitVisible("#import-q"))
		w.fill("#import-q", "import crews from crew.csv key='{id}' columns=c:first=nome")
	}, `//button[text()="Import"]`, `document.querySelector("#import-q")?.value || "gone"`, "import crews from crew.csv key='{id}' columns=c:first=nome", "nome"},
}

// whatIsTypedStays while the server stops, starts again, and wants a token that it wanted not before: a page
// says that nothing was sent, asks for the token in its place, and goes on. What was under way is said to
// have ended. It ends with a server that wants a token.
func whatIsTypedStays(t *testing.T, at *site) {
	first := at.tab(t)
	defer first.close()
	open := func(path string) *worker {
		w := &worker{tab: first.another()}
		w.deaf = true
		w.open(path)
		return w
	}
	filled := make([]*worker, len(drafts))
	for i, d := range drafts {
		filled[i] = open(d.path)
		d.fill(filled[i])
	}
	running := open("/query")
	running.fill("#q", "select count(*) as n from fleet, unnest(generate_array(1, 1000000)) as i")
	running.press(kb.Enter, input.ModifierCtrl)
	until(t, "the query runs", func() bool { return at.metric(queriesUnderWay) == 1 })
	rows := open("/tables/fleet?prefix=plane%23")
	at.kill()
	running.run(chromedp.WaitVisible("#result .failure"))
	rows.click(seats)
	rows.sees("#side .failure", "does not answer")
	rows.sees("#frame .ill", "no answer")
	check := func(i int, after string) {
		if got := eval[string](filled[i].tab, drafts[i].typed); got != drafts[i].want {
			t.Errorf("%s after %s: %q was typed, and %q is there", drafts[i].name, after, drafts[i].want, got)
		}
	}
	for i, w := range filled {
		w.click(drafts[i].button)
		w.sees("main .unsent", "nothing was sent")
		check(i, "the end of the server")
	}
	secret, err := exec.Command(at.bin, "--db", at.db, "token", "create", "operator", "--admin", "*").Output()
	if err != nil {
		t.Fatal(err)
	}
	token := string(secret[strings.Index(string(secret), "smolwc_"):])
	at.serve(at.addr, strings.TrimPrefix(at.url, "http://"))
	for i, w := range filled {
		w.click(drafts[i].button)
		if i == 0 {
			w.run(chromedp.WaitVisible("#sign-in"))
			w.fill("#sign-in [name=token]", "smolwc_wrong")
			w.press(kb.Enter)
			w.sees("#sign-in-why", "not known")
			w.fill("#sign-in [name=token]", strings.Fields(token)[0])
			w.press(kb.Enter)
		}
		w.sees("main", drafts[i].done)
		check(i, "a new token")
	}
}

// twoTabs change one cell: the second one is told what the first has written.
func twoTabs(t *testing.T, at *site) {
	first := at.tab(t)
	defer first.close()
	tabs := []*worker{{tab: first}, {tab: first.another()}}
	for i, w := range tabs {
		w.open("/tables/fleet?prefix=plane%23")
		w.click(seats)
		w.click(`//aside//a[text()="Edit"]`)
		w.fill("#side [name=value]", []string{"161", "171"}[i])
		w.click(`//aside//button[text()="Show the statement"]`)
		w.run(chromedp.WaitVisible(`//aside//button[text()="Run it"]`))
	}
	tabs[0].click(`//aside//button[text()="Run it"]`)
	tabs[0].sees("#side .done", "put 1 cell")
	tabs[1].click(`//aside//button[text()="Run it"]`)
	tabs[1].sees("#side .question", "161 now")
	tabs[1].click(`//aside//button[text()="Do it"]`)
	tabs[1].sees("#side .done", "put 1 cell")
	tabs[1].click(`//aside//button[text()="Undo"]`)
	tabs[1].sees("#rows", "161")
}
