package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql/lex"
)

//go:embed templates static
var files embed.FS

// A templateSet is the templates of the pages by their names. They are as in Go's
// html/template, but cannot call methods. Otherwise the linker would keep every method
// of every type: a fifth of the binary.
type templateSet struct{ pages map[string]*template.Template }

// templates are parsed with the first page.
var templates = sync.OnceValue(func() templateSet {
	set := templateSet{map[string]*template.Template{}}
	base := template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/parts.html"))
	names, _ := fs.Glob(files, "templates/*.html")
	for _, name := range names {
		switch page := strings.TrimSuffix(path.Base(name), ".html"); page {
		case "layout", "parts":
		default:
			set.pages[page] = template.Must(template.Must(base.Clone()).ParseFS(files, name))
		}
	}
	return set
})

var functions = template.FuncMap{
	"key": keyText, "field": field, "retention": kept, "describe": func(t string) string { return "describe " + lex.QuoteName(t) },
	"types": func() (names []string) {
		for t := cells.TypeBytes; t.Valid(); t++ {
			names = append(names, t.String())
		}
		return names
	},
	"families": families, "operators": func() []string { return operators }, "columnField": columnField, "columnWord": columnWord, "name": nameText, "moment": moment,
	"declared": func(t cells.Type) string {
		if t == cells.TypeAny {
			return ""
		}
		return t.String()
	}, "quoted": lex.QuoteName, "plural": humanize.Count[int],
	"ago":    func(ts cells.Timestamp) string { return ago(ts, time.Now()) },
	"table":  func(table, page string, pairs ...string) string { return address(table, page, pairs...) },
	"column": columnAddress, "method": methodName, "asset": asset,
	"statement": statementOf, "deleteRow": rowPage.deletion, "why": cellPage.why, "first": func(p rowsPage) string { return p.address("") },
	"amount": unit.amount, "period": period, "periods": func() []int { return heatHours },
	"began": func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"took":  func(d time.Duration) string { return d.Round(10 * time.Microsecond).String() },
	"every": func(d time.Duration) string { return spanText(d) },
	"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"since": func(t time.Time) string { return ago(cells.TimestampOf(t), time.Now()) },
	"words": coloured, "functions": functionNames,
	"zero": time.Time.IsZero, "message": error.Error, "kinds": kindsOf,
	"bytes": inBytes.of,
	"lag":   func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"clock": func(at int64) string { return time.Unix(at, 0).UTC().Format("01-02 15:04:05") },
}

// asset is the address of a static file. It changes with its contents.
func asset(name string) template.URL {
	return template.URL("/static/" + name + "?v=" + assetSums()[name])
}

// assetSums are the beginnings of the files' hashes.
var assetSums = sync.OnceValue(func() map[string]string {
	sums := map[string]string{}
	names, _ := fs.Glob(files, "static/*")
	for _, name := range names {
		text, _ := files.ReadFile(name)
		sum := sha256.Sum256(text)
		sums[path.Base(name)] = hex.EncodeToString(sum[:8])
	}
	return sums
})

var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// serveStatic sends a file of the pages. Browsers keep it, since its address changes with
// it.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	text, err := files.ReadFile("static/" + name)
	kind, known := contentTypes[path.Ext(name)]
	if err != nil || !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	if r.FormValue("v") == assetSums()[name] {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(text) // fails if the browser is gone
}
