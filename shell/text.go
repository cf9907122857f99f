package shell

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/smolwc/smolwc/ql/lex"
)

// widths measures text identically in every locale.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

func textWidth(s string) int { return widths.StringWidth(s) }

func cut(s string, width int) string {
	if width <= 0 || len(s) <= width || textWidth(s) <= width {
		return s
	}
	return widths.Truncate(s, width, "…")
}

// cutMiddle cuts a key: its beginning and its end tell it from its neighbours.
func cutMiddle(s string, width int) string {
	all := textWidth(s)
	if width <= 0 || all <= width {
		return s
	}
	if width < 5 {
		return cut(s, width)
	}
	tail := (width - 1) / 2
	return widths.Truncate(s, width-1-tail, "") + "…" + widths.TruncateLeft(s, all-tail, "")
}

func pad(s string, width int, right bool) string {
	return padMarked(s, s, width, right)
}

// padMarked is pad for text with colour marks.
func padMarked(s, marked string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-textWidth(s)))
	if right {
		return space + marked
	}
	return marked + space
}

// A textTable lays out lines of fields in columns. The lines measured before the first
// printed line determine the widths.
type textTable struct {
	out     *output
	style   *style
	width   int // 0: no bound
	heads   []string
	right   []bool // columns of numbers
	widths  []int
	keyed   bool // the first column holds keys, which give way first and are cut in the middle
	palette palette
	marks   []func(text string) string // colours of the columns; missing ones have none
}

// A style is how a textTable looks.
type style struct {
	before, between, after string // a line's fields
	least                  int    // the minimum width of a column
	escapes                *strings.Replacer
	rule                   func(width int, right bool) string // under the head of a column
}

// tableStyle is the table format: two spaces between columns and a rule under the
// header.
var tableStyle = &style{
	between: "  ",
	escapes: strings.NewReplacer(),
	rule:    func(width int, _ bool) string { return strings.Repeat("-", width) },
}

// markdownStyle is a table in GitHub's Markdown.
var markdownStyle = &style{
	before: "| ", between: " | ", after: " |", least: 3,
	escapes: strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`),
	rule: func(width int, right bool) string {
		if right {
			return strings.Repeat("-", width-1) + ":"
		}
		return strings.Repeat("-", width)
	},
}

func (t *textTable) header(heads []string, right []bool) {
	t.heads, t.right, t.widths = heads, right, make([]int, len(heads))
	t.measure(heads)
}

func (t *textTable) addColumn(head string) {
	t.heads, t.right, t.widths = append(t.heads, head), append(t.right, false), append(t.widths, textWidth(head))
}

// leastShown is how narrow a column of a query may become.
const leastShown = 8

// print measures all lines and prints them below the header.
func (t *textTable) print(lines [][]string) error {
	for _, line := range lines {
		t.measure(line)
	}
	key := min(t.widths[0], 24, max(leastShown, t.width/3))
	t.fit(func(column int) int {
		if t.keyed && column == 0 {
			return key
		}
		return leastShown
	})
	t.printHeader()
	for _, line := range lines {
		if err := t.printLine(line); err != nil {
			return err
		}
	}
	return nil
}

func (t *textTable) measure(fields []string) {
	for i, f := range fields {
		t.widths[i] = max(t.widths[i], textWidth(t.style.escapes.Replace(f)))
	}
}

// fit narrows the column of keys, and then the widest columns, until the table fits its width, but not below their
// minimum widths. It reports whether the table fits.
func (t *textTable) fit(least func(column int) int) bool {
	if t.width == 0 {
		return true
	}
	over := len(t.style.before) + len(t.style.between)*(len(t.widths)-1) + len(t.style.after) - t.width
	for i, w := range t.widths {
		t.widths[i] = min(w, t.width)
		over += t.widths[i]
	}
	for ; t.keyed && over > 0 && t.widths[0] > least(0); over-- {
		t.widths[0]--
	}
	for ; over > 0; over-- {
		widest := -1
		for i, w := range t.widths {
			if w > least(i) && (widest < 0 || w > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		t.widths[widest]--
	}
	return true
}

func (t *textTable) printHeader() {
	t.out.WriteString(t.line(t.cut(t.heads), func(_ int, head string) string {
		if !strings.Contains(head, ":") {
			return head
		}
		return t.palette.column(head)
	}))
	rules := make([]string, len(t.heads))
	for i, w := range t.widths {
		rules[i] = t.style.rule(max(w, t.style.least), t.right[i])
	}
	t.out.WriteString(t.line(rules, func(_ int, rule string) string { return t.palette.dim(rule) }))
}

func (t *textTable) printLine(fields []string) error {
	_, err := t.out.WriteString(t.line(t.cut(fields), func(i int, field string) string {
		if i >= len(t.marks) {
			return field
		}
		return t.marks[i](field)
	}))
	return err
}

// line pads the fields, which mark colours, and joins them.
func (t *textTable) line(fields []string, mark func(column int, text string) string) string {
	padded := make([]string, len(fields))
	for i, f := range fields {
		padded[i] = padMarked(f, mark(i, f), max(t.widths[i], t.style.least), t.right[i])
	}
	return strings.TrimRight(t.style.before+strings.Join(padded, t.style.between)+t.style.after, " ") + "\n"
}

func (t *textTable) cut(fields []string) []string {
	fitted := make([]string, len(fields))
	for i, f := range fields {
		fitted[i] = t.style.escapes.Replace(f)
		switch {
		case t.width > 0 && t.keyed && i == 0:
			fitted[i] = cutMiddle(fitted[i], t.widths[i])
		case t.width > 0:
			fitted[i] = cut(fitted[i], t.widths[i])
		}
	}
	return fitted
}

// The settings of .color.
const (
	colorAuto = "auto" // on a terminal, if Options.Color
	colorOn   = "on"
	colorOff  = "off"
)

// A palette marks words with colours for a terminal; the zero palette changes nothing.
// Marks do not change the displayed width of a text.
type palette struct{ on bool }

func (p palette) mark(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// key marks a row key.
func (p palette) key(text string) string { return p.mark("1", text) }

// dim marks text that is less important than the text beside it.
func (p palette) dim(text string) string { return p.mark("2", text) }

func (p palette) fault(text string) string { return p.mark("31", text) }

// column marks the family of a column, up to its colon.
func (p palette) column(text string) string {
	family, qualifier, ok := strings.Cut(text, ":")
	if !ok {
		return p.dim(text)
	}
	return p.dim(family+":") + qualifier
}

func (s *Session) palette(terminal bool) palette {
	switch s.color {
	case colorOn:
		return palette{true}
	case colorAuto:
		return palette{terminal && s.opt.Color}
	}
	return palette{}
}

func (s *Session) faults() palette { return s.palette(s.opt.ErrTerminal) }

// oneOf checks an argument that must be one of a few words.
func oneOf(arg string, words ...string) (string, error) {
	for _, w := range words {
		if strings.EqualFold(arg, w) {
			return w, nil
		}
	}
	last := len(words) - 1
	return "", fmt.Errorf("expected %s or %s, not %s", strings.Join(words[:last], ", "), words[last], lex.QuoteText(arg))
}
