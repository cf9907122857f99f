package shell

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
)

func (s *Session) printListing(l *exec.Listing) error {
	defer s.as(l.Format)()
	switch {
	case s.format == "quiet":
		return nil
	case s.format == "json" || s.format == "jsonl":
		return s.printObjects(objectsOf(l.Columns, l.Lines))
	case !forPeople(s.format):
		return s.printFields(l.Columns, l.Lines)
	}
	if l.Upright {
		return s.printUpright(l)
	}
	if l.Line != nil {
		if len(l.Line) > 0 {
			s.say("%s", s.spark(l.Line))
		}
	} else if err := s.printTable(l); err != nil {
		return err
	}
	for _, note := range l.Notes {
		if !s.opt.Quiet {
			s.say("(%s)", note)
		}
	}
	return nil
}

// as sets the format for one statement and returns a function that restores it.
func (s *Session) as(format string) (back func()) {
	session := s.format
	if format != "" {
		s.format = format
	}
	return func() { s.format = session }
}

// printFields prints lines as records, with a header.
func (s *Session) printFields(columns []string, lines [][]any) error {
	texts := [][]string{columns}
	for _, line := range lines {
		fields := make([]string, len(line))
		for i, v := range line {
			fields[i] = exactText(v)
		}
		texts = append(texts, fields)
	}
	return s.printLines(texts)
}

// exactText returns a field without loss.
func exactText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case cells.Value:
		return plainValue(v)
	}
	return fmt.Sprint(v)
}

func (s *Session) peopleText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case cells.Timestamp:
		return lex.FormatTimestamp(v, s.runner.Zone)
	case cells.Value:
		return lex.QuoteValue(v)
	case exec.Word:
		return ql.QuoteWord(string(v))
	}
	return fmt.Sprint(v)
}

// printUpright prints a line for each field that is not empty: its name and its text.
func (s *Session) printUpright(l *exec.Listing) error {
	width := 0
	for _, name := range l.Columns {
		width = max(width, textWidth(name))
	}
	for _, line := range l.Lines {
		for i, v := range line {
			if v == "" {
				continue
			}
			if err := s.say("%s  %s", pad(l.Columns[i], width, false), s.peopleText(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// barWidth is the length of the longest bar if output is not on a terminal.
const barWidth = 40

// printTable prints a listing as a table. Numbers are right-aligned, and bars follow
// them.
func (s *Session) printTable(l *exec.Listing) error {
	t := s.newTable()
	var heads []string
	var right []bool
	for i, name := range l.Columns {
		if !strings.Contains(name, ":") { // a column's name keeps its case
			name = strings.ToUpper(name)
		}
		heads = append(heads, name)
		right = append(right, len(l.Lines) > 0 && !slices.ContainsFunc(l.Lines, func(line []any) bool { return !isNumber(line[i]) }))
	}
	t.header(heads, right)
	var lines [][]string
	for _, line := range l.Lines {
		var fields []string
		for _, v := range line {
			text := s.peopleText(v)
			if v == nil && l.Bars != "" {
				text = "(others)"
			}
			fields = append(fields, text)
		}
		t.measure(fields)
		lines = append(lines, fields)
	}
	if bar := slices.Index(l.Columns, l.Bars); bar >= 0 {
		s.addBars(t, lines, l.Lines, bar)
	}
	return t.print(lines)
}

// newTable returns a table as wide as the screen, without colours.
func (s *Session) newTable() *textTable {
	if s.format == "markdown" {
		return &textTable{out: s.out, style: markdownStyle}
	}
	return &textTable{out: s.out, style: tableStyle, width: s.width()}
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

// addBars adds a column with bars for the numbers of a column, in the remaining width.
func (s *Session) addBars(t *textTable, lines [][]string, values [][]any, column int) {
	width := barWidth
	if t.width > 0 {
		used := 0
		for _, w := range t.widths {
			used += w + 2
		}
		width = max(8, min(2*barWidth, t.width-used-1))
	}
	most := int64(1)
	for _, line := range values {
		if line[0] != nil { // a row of all others is no measure of one
			most = max(most, line[column].(int64))
		}
	}
	t.addColumn("")
	for i, line := range values {
		lines[i] = append(lines[i], s.bar(min(1, float64(line[column].(int64))/float64(most)), width))
	}
}

// The characters of drawings: eighths of a block on a terminal, elsewhere plain text.
var (
	eighths    = []rune(" ▏▎▍▌▋▊▉█")
	levels     = []rune("▁▂▃▄▅▆▇█")
	textLevels = []rune("_.-:=+*#")
)

// bar draws a part, from 0 to 1, of the width; any part above 0 is visible.
func (s *Session) bar(part float64, width int) string {
	if part <= 0 {
		return ""
	}
	if !s.out.terminal {
		return strings.Repeat("#", max(1, int(math.Round(part*float64(width)))))
	}
	n := max(1, int(math.Round(part*float64(width)*8)))
	text := strings.Repeat(string(eighths[8]), n/8)
	if n%8 > 0 {
		text += string(eighths[n%8])
	}
	return text
}

// spark draws numbers as heights; a gap is a space.
func (s *Session) spark(line []float64) string {
	blocks := textLevels
	if s.out.terminal {
		blocks = levels
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, f := range line {
		if f == f {
			low, high = min(low, f), max(high, f)
		}
	}
	var b strings.Builder
	for _, f := range line {
		switch {
		case f != f:
			b.WriteByte(' ')
		case high == low:
			b.WriteRune(blocks[len(blocks)/2])
		default: // halves, so that the range of an f64 does not overflow
			part := (f/2 - low/2) / (high/2 - low/2)
			b.WriteRune(blocks[min(len(blocks)-1, int(part*float64(len(blocks))))])
		}
	}
	return b.String()
}

// printStatistics prints the engine's statistics: in csv and tsv one line for each.
func (s *Session) printStatistics(st *exec.Statistics) error {
	defer s.as(st.Format)()
	switch {
	case s.format == "quiet":
		return nil
	case s.format == "json" || s.format == "jsonl":
		return s.printStatisticsJSON(st)
	case !forPeople(s.format):
		var lines [][]any
		for _, line := range st.Families.Lines {
			for i, name := range st.Families.Columns[2:] {
				lines = append(lines, []any{line[0], line[1], name, line[i+2]})
			}
		}
		for _, f := range st.Engine {
			lines = append(lines, []any{nil, nil, f.Name, f.Value})
		}
		return s.printFields([]string{"table", "family", "figure", "value"}, lines)
	}
	people := &exec.Listing{Columns: st.Families.Columns}
	for _, line := range st.Families.Lines {
		fields := append([]any(nil), line...)
		for _, i := range []int{2, 6, 7} {
			fields[i] = byteText(line[i].(int64))
		}
		people.Lines = append(people.Lines, fields)
	}
	if err := s.printTable(people); err != nil || len(st.Engine) == 0 {
		return err
	}
	s.out.WriteString("\n")
	figures := &exec.Listing{Columns: []string{"figure", "value"}}
	for _, f := range st.Engine {
		value := s.peopleText(f.Value)
		switch n, _ := f.Value.(int64); f.Unit {
		case "bytes":
			value = byteText(n)
		case "us":
			value = fmt.Sprintf("%.1fms", float64(n)/1000)
		}
		figures.Lines = append(figures.Lines, []any{strings.ReplaceAll(f.Name, "_", " "), value})
	}
	return s.printTable(figures)
}

func (s *Session) printStatisticsJSON(st *exec.Statistics) error {
	var o, engine object
	o.add("families", objectsOf(st.Families.Columns, st.Families.Lines))
	for _, f := range st.Engine {
		engine.add(f.Name, f.Value)
	}
	o.addSet("engine", engine)
	return s.printObject(o)
}

func byteText(n int64) string {
	f := float64(n)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if math.Abs(f) < 1024 {
			return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") + " " + unit
		}
		f /= 1024
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " TiB"
}

// printFact prints a few values. In csv and tsv a single value is printed without its
// name. text is for people.
func (s *Session) printFact(text string, names []string, values ...any) error {
	switch {
	case s.format == "quiet":
		return nil
	case strings.HasPrefix(s.format, "json"):
		text = string(objectOf(names, values).bytes())
	case s.format == "csv" || s.format == "tsv":
		if len(names) > 1 {
			return s.printFields(names, [][]any{values})
		}
		return s.printRecord(exactText(values[0]))
	}
	return s.say("%s", text)
}

// printLines prints a small table. The first line is the header.
func (s *Session) printLines(lines [][]string) error {
	switch s.format {
	case "quiet":
		return nil
	case "csv", "tsv":
		heads := slices.Clone(lines[0])
		for i, head := range heads {
			heads[i] = strings.ToLower(head)
		}
		err := s.printRecord(heads...)
		for _, line := range lines[1:] {
			err = s.printRecord(line...)
		}
		return err
	}
	t := s.newTable()
	if s.format != "markdown" {
		t.palette = s.palette(s.out.terminal)
	}
	t.header(lines[0], make([]bool, len(lines[0])))
	return t.print(lines[1:])
}
