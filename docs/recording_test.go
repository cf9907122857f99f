package docs_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordings are the sessions that are shown as recordings: the first block with a text,
// of a page whose transcripts run.
var recordings = []struct{ name, page, text string }{
	{"tour", "README.md", "create table fleet"},
	{"query", "docs/from-sql.md", "select _key"},
}

const (
	columns    = 74   // of the terminal
	keyEvery   = 0.03 // seconds between two keys
	answerTime = 0.25 // seconds before a result
	readTime   = 1.4  // seconds after a result
)

// The recordings, casts of asciinema and drawings of them, are the sessions on the pages.
func TestRecordings(t *testing.T) {
	for _, r := range recordings {
		if !slices.Contains(transcripts, r.page) {
			t.Errorf("%s is not tested", r.page)
		}
		lines := record(sessionOf(t, r.page, r.text))
		for ext, want := range map[string]string{".cast": cast(lines), ".svg": drawing(lines, r.name)} {
			file := filepath.Join("pictures", r.name+ext)
			if got, _ := os.ReadFile(file); string(got) == want {
				continue
			} else if !*update {
				t.Errorf("docs/%s is not the session of %s: go test ./docs -update", file, r.page)
			} else if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}

func sessionOf(t *testing.T, page, text string) []string {
	for _, b := range blocks(t, page, "smolwc") {
		if strings.Contains(b.text(), text) {
			return b.lines
		}
	}
	t.Fatalf("%s has no session with %q", page, text)
	return nil
}

// A shown line is a line of the terminal. Typed text appears key by key.
type shown struct {
	text  string
	typed bool
	at    float64 // seconds from the beginning
}

// record times the lines of a session, wrapped as a terminal wraps them.
func record(session []string) (lines []shown) {
	at := 0.5
	for i, line := range session {
		typed := strings.HasPrefix(line, prompt)
		if typed && i > 0 {
			at += readTime
		}
		for rest, first := []rune(line), true; first || len(rest) > 0; first = false {
			n := min(columns, len(rest))
			lines = append(lines, shown{string(rest[:n]), typed, at})
			rest = rest[n:]
			if typed {
				at += float64(n) * keyEvery
			}
		}
		if typed {
			at += answerTime
		}
	}
	return lines
}

// cast is the recording in asciinema's format, version 2.
func cast(lines []shown) string {
	var out strings.Builder
	fmt.Fprintf(&out, "{\"version\": 2, \"width\": %d, \"height\": %d}\n", columns, len(lines)+1)
	event := func(at float64, text string) {
		b, _ := json.Marshal(text) // of a string it does not fail
		fmt.Fprintf(&out, "[%.2f, \"o\", %s]\n", at, b)
	}
	for _, l := range lines {
		if !l.typed {
			event(l.at, l.text+"\r\n")
			continue
		}
		for i, r := range []rune(l.text) {
			event(l.at+float64(i)*keyEvery, string(r))
		}
		event(l.at+float64(len([]rune(l.text)))*keyEvery, "\r\n")
	}
	return out.String()
}

// drawing is the recording as an animated SVG. It plays once. Lines that are still to come
// are dim and not absent, so that a still picture can be read, also on paper: a page prints
// its pictures as they are at that moment. For readers that want no motion all lines are
// bright.
func drawing(lines []shown, name string) string {
	const charWidth, lineHeight, margin = 7.85, 18, 16
	const width = 614 // for the columns and both margins
	height := len(lines)*lineHeight + 2*margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="A session of the shell: %[3]s">
<title>A session of the shell: %[3]s</title>
<style>
  text{font:13px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1e0;white-space:pre}
  text{animation:show 1ms both}.typed{fill:#fff;animation-name:type}.dim{fill:#fff;opacity:.62;animation:none}.prompt{fill:#86b4ff}
  @keyframes show{from{opacity:.62}}
  @keyframes type{from{clip-path:inset(-2px 100%% -4px 0)}to{clip-path:inset(-2px 0 -4px 0)}}
  @media print,(prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#161b24"/>
`, width, height, name)
	for i, l := range lines {
		y := margin + (i+1)*lineHeight - 5
		chars := len([]rune(l.text))
		if chars == 0 {
			continue
		}
		text := func(attributes string) {
			fmt.Fprintf(&out, `<text x="%d" y="%d" textLength="%.1f" xml:space="preserve" %s>%s</text>`+"\n",
				margin, y, float64(chars)*charWidth, attributes, marked(l.text))
		}
		if !l.typed {
			text(fmt.Sprintf(`style="animation-delay:%.2fs"`, l.at))
			continue
		}
		text(`class="dim"`)
		text(fmt.Sprintf(`class="typed" style="animation-delay:%.2fs;animation-duration:%.2fs;animation-timing-function:steps(%d)"`,
			l.at, float64(chars)*keyEvery, chars))
	}
	return out.String() + "</svg>\n"
}

// marked is a line as XML, with the prompt in its colour.
func marked(line string) string {
	var out strings.Builder
	if rest, ok := strings.CutPrefix(line, prompt); ok {
		out.WriteString(`<tspan class="prompt">smolwc&gt; </tspan>`)
		line = rest
	}
	_ = xml.EscapeText(&out, []byte(line)) // a strings.Builder takes everything
	return out.String()
}
