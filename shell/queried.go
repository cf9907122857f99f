package shell

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/sql/value"
)

// A queryPrinter writes the rows of a query in SQL.
type queryPrinter interface {
	row([]any) error
	end() error
}

// printQueried prints the result of a query, and returns the number of its rows.
func (s *Session) printQueried(q *exec.Queried) (rows int, err error) {
	p := s.queryPrinter(q)
	return rows, printEach(s, q.All(), p, func(values []any) error {
		rows++
		return p.row(values)
	})
}

func (s *Session) queryPrinter(q *exec.Queried) queryPrinter {
	names := make([]string, len(q.Columns))
	right := make([]bool, len(q.Columns))
	for i, c := range q.Columns {
		names[i], right[i] = q.Name(i), c.Type.Numeric()
	}
	switch s.format {
	case "json", "jsonl":
		return &queryJSON{out: s.out, names: distinct(names), array: s.format == "json"}
	case "csv":
		return &querySeparated{out: s.out, names: names, record: csvRecord}
	case "tsv":
		return &querySeparated{out: s.out, names: names, record: tsvRecord}
	case "line", "cbt":
		return &queryLines{out: s.out, names: names, palette: s.palette(s.out.terminal)}
	case "quiet":
		return queryQuiet{}
	}
	p := &queryTable{table: s.newTable(), right: right, markdown: s.format == "markdown"}
	p.table.keyed = len(names) > 1 && names[0] == "_key"
	if !p.markdown {
		p.table.palette = s.palette(s.out.terminal)
	}
	for _, name := range names {
		p.heads = append(p.heads, lex.Escape(name))
	}
	return p
}

// distinct gives a name that repeats one before it a number, as in _key_2: an object of JSON has
// each name once.
func distinct(names []string) []string {
	taken := map[string]bool{}
	for i, name := range names {
		for n := 2; taken[names[i]]; n++ {
			names[i] = name + "_" + strconv.Itoa(n)
		}
		taken[names[i]] = true
	}
	return names
}

type queryQuiet struct{}

func (queryQuiet) row([]any) error { return nil }
func (queryQuiet) end() error      { return nil }

// A queryTable prints a table whose first rows decide the widths.
type queryTable struct {
	table    *textTable
	heads    []string
	right    []bool
	markdown bool
	held     [][]string
	begun    bool
	rows     int
}

// heldRows is how many rows decide the widths.
const heldRows = 100

func (p *queryTable) row(values []any) error {
	p.rows++
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = ShownValue(v)
	}
	if p.begun {
		return p.table.printLine(fields)
	}
	if p.held = append(p.held, fields); len(p.held) < heldRows {
		return nil
	}
	return p.idle()
}

// idle prints the rows that are held back.
func (p *queryTable) idle() error {
	if p.begun || len(p.held) == 0 {
		return nil
	}
	return p.begin()
}

func (p *queryTable) begin() error {
	p.begun = true
	p.table.header(p.heads, p.right)
	held := p.held
	p.held = nil
	return p.table.print(held)
}

func (p *queryTable) end() error {
	if !p.begun {
		if err := p.begin(); err != nil {
			return err
		}
	}
	if p.markdown {
		return nil
	}
	_, err := p.table.out.WriteString(p.table.palette.dim("("+humanize.Plural(p.rows, "row")+")") + "\n")
	return err
}

// A queryLines prints a line for each column of a row.
type queryLines struct {
	out     *output
	names   []string
	palette palette
	rows    int
}

func (p *queryLines) row(values []any) (err error) {
	if p.rows++; p.rows > 1 {
		p.out.WriteString("\n")
	}
	for i, v := range values {
		_, err = fmt.Fprintf(p.out, "%s: %s\n", p.palette.column(lex.Escape(p.names[i])), ShownValue(v))
	}
	return err
}

func (p *queryLines) end() error { return nil }

// A querySeparated prints csv and tsv, with a header. NULL is an absent field.
type querySeparated struct {
	out    *output
	names  []string
	record func(fields []field, terminal bool) string
	begun  bool
}

func (p *querySeparated) row(values []any) error {
	if err := p.end(); err != nil {
		return err
	}
	fields := make([]field, len(values))
	for i, v := range values {
		fields[i] = field{exactValue(v), v != nil}
	}
	_, err := p.out.WriteString(p.record(fields, p.out.terminal))
	return err
}

// end writes the header, once.
func (p *querySeparated) end() error {
	if p.begun {
		return nil
	}
	p.begun = true
	_, err := p.out.WriteString(p.record(presentFields(p.names), p.out.terminal))
	return err
}

// A queryJSON prints an object for each row.
type queryJSON struct {
	out   *output
	names []string
	array bool
	rows  int
}

func (p *queryJSON) row(values []any) error {
	var b []byte
	if p.array {
		b = append(b, []string{"[\n", ",\n"}[min(p.rows, 1)]...)
	}
	p.rows++
	b = append(b, '{')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNamed(b, p.names[i], v)
	}
	b = append(b, '}')
	if !p.array {
		b = append(b, '\n')
	}
	_, err := p.out.Write(b)
	return err
}

func (p *queryJSON) end() error {
	return (&jsonPrinter{view: &view{out: p.out}, array: p.array, rows: p.rows}).end()
}

// appendNamed appends "name":value.
func appendNamed(b []byte, name string, v any) []byte {
	if raw, ok := v.([]byte); ok {
		return appendText(b, name, string(raw))
	}
	return appendJSON(append(appendString(b, name), ':'), v)
}

// appendJSON appends a value. An integer that a float64 cannot have is a string, as in
// GoogleSQL's own JSON.
func appendJSON(b []byte, v any) []byte {
	const exact = 1 << 53
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		if v < -exact || v > exact {
			return appendString(b, strconv.FormatInt(v, 10))
		}
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	case value.JSON:
		return append(b, v...)
	case float32, float64:
		if f := value.ToFloat(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return appendString(b, notFinite(f))
		}
		return append(b, value.FloatText(v)...)
	case []byte:
		if !utf8.Valid(v) {
			return append(appendText(append(b, '{'), "bytes", string(v)), '}')
		}
		return appendString(b, string(v))
	case value.Array:
		return appendList(b, v, appendJSON)
	case value.Struct:
		return appendList(b, v, appendJSON)
	case value.Map:
		b = append(b, '{')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNamed(b, e.Qualifier, e.Value)
		}
		return append(b, '}')
	}
	return appendString(b, exactValue(v))
}

// exactValue is a value without loss.
func exactValue(v any) string {
	return valueText(v, func(b []byte) string {
		return "b64'" + base64.StdEncoding.EncodeToString(b) + "'"
	})
}

// ShownValue is a value of a query in SQL for people, without control characters.
func ShownValue(v any) string {
	if v == nil {
		return "NULL"
	}
	return lex.Escape(valueText(v, func(b []byte) string {
		text := strconv.QuoteToASCII(string(b))
		return "b'" + strings.ReplaceAll(strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`), "'", `\'`) + "'"
	}))
}

// valueText is the text of a value; other writes bytes that are not text.
func valueText(v any, other func([]byte) string) string {
	list := func(open, end string, n int, item func(int) string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = item(i)
		}
		return open + strings.Join(items, ", ") + end
	}
	within := func(v any) string {
		if v == nil {
			return "NULL"
		}
		return valueText(v, other)
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		if !utf8.Valid(v) || !lex.IsPrintable(string(v)) {
			return other(v)
		}
		return string(v)
	case value.Array:
		return list("[", "]", len(v), func(i int) string { return within(v[i]) })
	case value.Struct:
		return list("(", ")", len(v), func(i int) string { return within(v[i]) })
	case value.Map:
		return list("{", "}", len(v), func(i int) string {
			return within([]byte(v[i].Qualifier)) + ": " + within(v[i].Value)
		})
	case value.JSON:
		return string(v)
	case value.Datetime:
		return v.Time().Format("2006-01-02T15:04:05.999999")
	case cells.Timestamp:
		if at := v.Time().UTC(); at.Year() <= 9999 { // also of the first days of 1970
			return at.Format("2006-01-02T15:04:05.999999Z07:00")
		}
		return v.String()
	}
	text, err := value.Cast(v, value.TypeString)
	if s, ok := text.(string); ok && err == nil {
		return s
	}
	return fmt.Sprint(v)
}
