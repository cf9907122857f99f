package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focused waits until the focus is on something whose text or name has a part.
func (b *tab) focused(part string) {
	b.t.Helper()
	until(b.t, "the focus is at "+part, func() bool {
		return strings.Contains(glance[string](b, `(e => e?.innerText || e?.name || "")(document.activeElement)`), part)
	})
}

// changesByKeyboard edits a cell, undoes it, and makes a table without a mouse: the focus goes to what the
// page says, and back to where it was.
func changesByKeyboard(t *testing.T, at *site) {
	w := &worker{tab: at.tab(t)}
	defer w.close()
	w.look(looks[0])
	w.open("/tables/fleet?prefix=plane%23")
	w.tabTo("plane#N223AG")
	w.press(kb.ArrowRight)
	w.press(kb.ArrowRight)
	seats := w.focus()
	w.press(kb.Enter)
	w.focused("meta:seats")
	w.tabTo("Edit")
	w.press(kb.Enter)
	w.focused("value")
	w.run(chromedp.KeyEvent(kb.End + kb.Backspace + "9"))
	w.tabTo("Show the statement")
	w.press(kb.Enter)
	w.focused("put fleet plane#N223AG meta:seats=")
	w.tabTo("Run it")
	w.press(kb.Enter)
	w.focused("put 1 cell")
	w.tabTo("Undo")
	w.press(kb.Enter)
	w.sees("#rows", seats)
	w.focused("put 1 cell")
	w.press(kb.Escape)
	w.focused(seats)
	w.open("/schema")
	w.tabTo("table")
	w.run(chromedp.KeyEvent("journal"))
	w.tabTo("family")
	w.run(chromedp.KeyEvent("note"))
	w.tabTo("max_age")
	w.run(chromedp.KeyEvent("30 days"))
	w.press(kb.Enter)
	w.focused("want one word")
	w.tabTo("max_age")
	w.run(chromedp.KeyEvent(kb.End + strings.Repeat(kb.Backspace, 5) + "d"))
	w.press(kb.Enter)
	w.focused("created table journal")
}
