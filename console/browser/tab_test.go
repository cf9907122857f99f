package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe-core/axe.min.js
var axe string

// chromium is the browser of the test; "" if none is installed.
func chromium() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// newTab starts a browser with one tab, which ends with the test.
func newTab() (context.Context, func()) {
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium()), chromedp.NoSandbox, chromedp.DisableGPU)
	all, end := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(all)
	return ctx, func() { cancel(); end() }
}

// A tab is one of a browser. It fails the test for whatever the browser complains about:
// errors in its console, violations of the policy, dialogs.
type tab struct {
	t     testing.TB
	at    *site
	ctx   context.Context
	close func()

	mu       sync.Mutex
	expected string // a part of a complaint that the test has provoked
	seen     bool   // the browser has made it
	deaf     bool   // all complaints are expected
}

func (at *site) tab(t testing.TB) *tab {
	t.Helper()
	ctx, cancel := newTab()
	return at.listen(t, ctx, cancel)
}

// another is a further tab of the browser.
func (b *tab) another() *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	return b.at.listen(b.t, ctx, cancel)
}

func (at *site) listen(t testing.TB, ctx context.Context, cancel func()) *tab {
	t.Helper()
	b := &tab{t: t, at: at, ctx: ctx, close: cancel}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.complain("an exception", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				text, _ := json.Marshal(e.Args)
				b.complain("the console", string(text))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || e.Entry.Source == log.SourceSecurity {
				b.complain(string(e.Entry.Source), e.Entry.Text+" "+e.Entry.URL)
			}
		case *page.EventJavascriptDialogOpening:
			b.complain("a dialog", e.Message)
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(true)) }() // the tab may be closed
		}
	})
	t.Cleanup(cancel)
	// The browser ends with the context of the first Run.
	if err := chromedp.Run(ctx, log.Enable(), page.Enable(), runtime.Enable()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) complain(where, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf {
		return
	}
	if b.expected != "" && strings.Contains(text, b.expected) {
		b.seen = true
		return
	}
	b.t.Errorf("%s: %s", where, text)
}

// expect says which complaint the next steps provoke; "" is no complaint.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected, b.seen = text, false
}

// complained reports whether the browser has made the complaint that is expected.
func (b *tab) complained() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// mostPatience is how long a step may take before the test gives up.
const mostPatience = 2 * time.Minute

// try runs actions and returns their error.
func (b *tab) try(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, mostPatience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.try(actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) open(path string) {
	b.t.Helper()
	if err := b.try(chromedp.Navigate(b.at.url+path), chromedp.WaitReady("main")); err != nil {
		b.t.Fatalf("%s: %v", path, err)
	}
}

// eval is the value of an expression, which may be a promise.
func eval[T any](b *tab, expression string, args ...any) (value T) {
	b.t.Helper()
	value, err := evaluated[T](b, expression, args...)
	if err != nil {
		b.t.Fatalf("%s: %v", expression[:min(len(expression), 200)], err)
	}
	return value
}

// glance is the value of an expression that only reads, for until: nothing while one page takes
// the place of another.
func glance[T any](b *tab, expression string, args ...any) (value T) {
	b.t.Helper()
	value, err := evaluated[T](b, expression, args...)
	if err != nil && b.ctx.Err() == nil {
		for _, gone := range []string{"Inspected target navigated or closed", "Cannot find context", "Execution context was destroyed"} {
			if strings.Contains(err.Error(), gone) {
				return *new(T)
			}
		}
	}
	if err != nil {
		b.t.Fatalf("%s: %v", expression[:min(len(expression), 200)], err)
	}
	return value
}

func evaluated[T any](b *tab, expression string, args ...any) (value T, err error) {
	if len(args) > 0 {
		quoted := make([]any, len(args))
		for i, a := range args {
			text, err := json.Marshal(a)
			if err != nil {
				return value, err
			}
			quoted[i] = string(text)
		}
		expression = fmt.Sprintf(expression, quoted...)
	}
	await := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	err = b.try(chromedp.Evaluate(expression, &value, await))
	return value, err
}

// A look is how the browser shows pages.
type look struct {
	name          string
	width, height int64
	scheme        string
	judged        bool // axe-core takes its time
}

var looks = []look{{"wide and light", 1366, 768, "light", true}, {"narrow and light", 390, 844, "light", false}, {"narrow and dark", 390, 844, "dark", true}, {"wide and dark", 1366, 768, "dark", false}}

func (b *tab) look(l look) {
	b.t.Helper()
	b.run(emulation.SetDeviceMetricsOverride(l.width, l.height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}))
}

// A finding is what axe-core says of a page.
type finding struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML, FailureSummary string }
}

// findings are those of axe-core that are serious.
func (b *tab) findings() (serious []finding) {
	b.t.Helper()
	eval[any](b, axe+";0")
	for _, f := range eval[[]finding](b, "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)") {
		if f.Impact == "serious" || f.Impact == "critical" {
			serious = append(serious, f)
		}
	}
	return serious
}
