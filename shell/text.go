package shell

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// widths measures text identically in every locale.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

func textWidth(s string) int { return widths.StringWidth(s) }

// cut shortens text to a width and marks the cut with '…'.
func cut(s string, width int) string {
	if width <= 0 || len(s) <= width || textWidth(s) <= width {
		return s
	}
	return widths.Truncate(s, width, "…")
}

// pad pads text to a width.
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
	style   style
	width   int // 0: no bound
	heads   []string
	right   []bool // columns of numbers
	widths  []int
	palette palette
	roles   []role // of the columns; missing ones are plain
}

// A style is how a textTable looks.
type style interface {
	// gap is the number of screen columns between two fields, and around all of them.
	gap() (between, around int)
	header(heads []string, widths []int, right []bool, p palette) string
	line(fields []string, widths []int, right []bool, mark func(column int, text string) string) string
	// escape makes a field fit for a line.
	escape(field string) string
}

func (t *textTable) header(heads []string, right []bool) {
	t.heads, t.right, t.widths = heads, right, make([]int, len(heads))
	t.measure(heads)
}

// addColumn adds a column of text after the others.
func (t *textTable) addColumn(head string) {
	t.heads, t.right, t.widths = append(t.heads, head), append(t.right, false), append(t.widths, textWidth(head))
}

// print measures all lines and prints them below the header.
func (t *textTable) print(lines [][]string) error {
	for _, line := range lines {
		t.measure(line)
	}
	t.fit(nil)
	t.printHeader()
	for _, line := range lines {
		if err := t.printLine(line); err != nil {
			return err
		}
	}
	return nil
}

// measure widens the columns to fit a line.
func (t *textTable) measure(fields []string) {
	for i, f := range fields {
		t.widths[i] = max(t.widths[i], textWidth(t.style.escape(f)))
	}
}

// fit narrows the widest columns until the table fits its width, but not below their
// minimum widths (8 if least is nil). It reports whether the table fits.
func (t *textTable) fit(least []int) bool {
	if t.width == 0 {
		return true
	}
	between, around := t.style.gap()
	over := around + between*(len(t.widths)-1) - t.width
	for i, w := range t.widths {
		t.widths[i] = min(w, t.width)
		over += t.widths[i]
	}
	for ; over > 0; over-- {
		widest := -1
		for i, w := range t.widths {
			low := 8
			if least != nil {
				low = least[i]
			}
			if w > low && (widest < 0 || w > t.widths[widest]) {
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
	t.out.WriteString(t.style.header(t.cut(t.heads), t.widths, t.right, t.palette))
}

func (t *textTable) printLine(fields []string) error {
	_, err := t.out.WriteString(t.style.line(t.cut(fields), t.widths, t.right, t.mark))
	return err
}

func (t *textTable) mark(column int, text string) string {
	if column >= len(t.roles) {
		return text
	}
	return t.palette.role(t.roles[column], text)
}

// cut shortens fields to their columns if there is a width.
func (t *textTable) cut(fields []string) []string {
	fitted := make([]string, len(fields))
	for i, f := range fields {
		fitted[i] = t.style.escape(f)
		if t.width > 0 {
			fitted[i] = cut(fitted[i], t.widths[i])
		}
	}
	return fitted
}

// tableStyle is the table format: two spaces between columns and a rule under the
// header.
type tableStyle struct{}

func (tableStyle) gap() (between, around int) { return 2, 0 }

func (tableStyle) escape(field string) string { return field }

func (s tableStyle) header(heads []string, widths []int, right []bool, p palette) string {
	rule := make([]string, len(heads))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
	}
	head := func(_ int, text string) string {
		if !strings.Contains(text, ":") {
			return text
		}
		return p.column(text)
	}
	dim := func(_ int, text string) string { return p.dim(text) }
	return s.line(heads, widths, right, head) + s.line(rule, widths, right, dim)
}

func (tableStyle) line(fields []string, widths []int, right []bool, mark func(int, string) string) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(padMarked(f, mark(i, f), widths[i], right[i]))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// markdownStyle is a table in GitHub's Markdown.
type markdownStyle struct{}

func (markdownStyle) gap() (between, around int) { return 3, 4 }

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`)

func (markdownStyle) escape(field string) string {
	return markdownEscapes.Replace(field)
}

func (s markdownStyle) header(heads []string, widths []int, right []bool, _ palette) string {
	rule := make([]string, len(heads))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", max(w, 3))
		if right[i] {
			rule[i] = rule[i][1:] + ":"
		}
	}
	return s.line(heads, widths, right, nil) + s.line(rule, widths, right, nil)
}

func (markdownStyle) line(fields []string, widths []int, right []bool, _ func(int, string) string) string {
	var b strings.Builder
	for i, f := range fields {
		b.WriteString("| " + pad(f, max(widths[i], 3), right[i]) + " ")
	}
	return b.String() + "|\n"
}
