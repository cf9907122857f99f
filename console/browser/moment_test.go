package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// asItWas opens a table as it was, without a mouse: the slider and the field beside it say the same moment, and a question
// comes before anything is read.
func asItWas(t *testing.T, at *site) {
	b := at.tab(t)
	defer b.close()
	b.look(looks[0])
	until(t, "moments of some seconds", func() bool {
		b.open("/moment?table=fleet")
		return glance[bool](b, `(e => !!e && e.max - e.min > 2)(document.querySelector("#second"))`)
	})
	last := eval[int64](b, `Number(document.querySelector("#second").value)`)
	b.tabTo("second")
	b.press(kb.ArrowLeft)
	want := time.Unix(last-1, 0).UTC().Format(time.RFC3339)
	if got := eval[string](b, `document.querySelector("#at").value + " " + document.activeElement.getAttribute("aria-valuetext")`); got != want+" "+want {
		t.Errorf("a second before, the field and the slider say %q; want %q", got, want)
	}
	least, most := eval[int64](b, `Number(document.querySelector("#second").min)`), eval[int64](b, `Number(document.querySelector("#second").max)`)
	for _, c := range []struct {
		key  string
		want int64
	}{{kb.PageDown, max(least, last-1-60)}, {kb.PageUp, min(most, max(least, last-1-60)+60)}, {kb.ArrowLeft, min(most, max(least, last-1-60)+60) - 1}} {
		b.press(c.key)
		if got := eval[int64](b, `Number(document.querySelector("#second").value)`); got != c.want {
			t.Errorf("the slider is at %d; want %d", got, c.want)
		}
	}
	for _, f := range b.findings() {
		t.Errorf("%s: %s %+v", f.ID, f.Help, f.Nodes)
	}
	b.tabTo("as")
	b.press(kb.Enter)
	b.run(chromedp.WaitVisible(".question"))
	if text := eval[string](b, `document.querySelector(".question").innerText`); !strings.Contains(text, "this reads backup 1") || !strings.Contains(text, "fleet_before") {
		t.Errorf("the question is %q", text)
	}
	b.tabTo("Open it")
	b.press(kb.Enter)
	b.run(chromedp.WaitVisible(`.done a[href="/tables/fleet_before"]`), chromedp.Click(`.done a`), chromedp.WaitVisible("form.choice"))
	if rows := eval[int](b, `document.querySelectorAll("#rows tbody tr").length`); rows == 0 {
		t.Error("the table as it was has no rows")
	}
	at.command(at.bin, "--addr", at.addr, "-c", "drop table fleet_before yes", "-c", "purge table fleet_before yes")
}
