package console

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

// resultBytes is the size of a result that is shown as text.
const resultBytes = 1 << 20

// A queryPage is the box for statements, with the result of one.
type queryPage struct {
	Text   string
	Result *result // nil: no statement was run
	Nonce  string  // with which the policy lets the editor have styles
}

// A result is one of the following, with the time that it took.
type result struct {
	Took     time.Duration
	Grid     *grid          // of a table's rows
	Columns  []string       // of Lines
	Lines    [][]resultCell // of a query or a listing
	Notes    []string       // below a listing
	Plan     *planNode
	Text     string   // of other results
	Copies   []copied // the statement in other languages
	More     bool     // there is more than is shown
	Question string   // that the person must answer first
	Failure  string
}

func showQuery(v *visit) error {
	return v.showResult(v.r.FormValue("q"), nil)
}

func (v *visit) showResult(text string, res *result) error {
	nonce := rand.Text()
	v.w.Header().Set("Content-Security-Policy", strings.Replace(policy, "style-src 'self'", "style-src 'self' 'nonce-"+nonce+"'", 1))
	return v.show("query", "Query", queryPage{text, res, nonce})
}

func runQuery(v *visit) error {
	text := withoutComments(v.r.FormValue("q"))
	// The server's deadline ends a long statement, and no other.
	if err := http.NewResponseController(v.w).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	statement := text
	switch format := v.r.FormValue("as"); format {
	case "":
	case "explain", "analyze":
		statement = format + " " + strings.TrimSpace(text)
	case "csv", "jsonl", "parquet":
		return v.download(text, format)
	default:
		return invalid("there is no form %s; want csv, jsonl, parquet, explain or analyze", lex.QuoteText(format))
	}
	begun := time.Now()
	res, err := v.run(statement)
	if err != nil {
		res = &result{Failure: err.Error()}
	}
	res.Took = time.Since(begun).Round(10 * time.Microsecond)
	if statement == text && res.Failure == "" {
		res.Copies = v.copiesOf(text)
	}
	return v.showResult(text, res)
}

// run runs a statement for the page.
func (v *visit) run(text string) (*result, error) {
	found, err := v.start(text, resultRows)
	if asked, ok := isUnanswered(err); ok {
		return &result{Question: asked.question}, nil
	}
	if err != nil {
		return nil, err
	}
	res := &result{}
	switch found := found.(type) {
	case *exec.RowStream:
		return res, res.addRows(found)
	case *exec.Listing:
		for _, line := range found.Lines {
			res.addLine(line)
		}
		res.Columns, res.Notes = found.Columns, found.Notes
		return res, nil
	case *exec.Queried:
		if err := res.addQueried(found); err != nil || !isExplain(text) {
			return res, err
		}
		return v.explained(res), nil
	case *exec.Explained:
		return &result{Plan: planOf(found)}, nil
	case *exec.Leave:
		return nil, errors.New("this page has no session to leave")
	}
	var out limited
	err = printed(&out, found, "table")
	res.Text, res.More = out.String(), out.over
	return res, err
}

// explained is the lines of EXPLAIN as a tree.
func (v *visit) explained(res *result) *result {
	var lines []string
	for _, line := range res.Lines {
		lines = append(lines, line[0].Text)
	}
	return &result{Plan: planOfLines(lines, v.sizeOf)}
}

// kindsOf returns the kind of each column's values: number, time or text.
func kindsOf(res *result) []string {
	kinds := make([]string, len(res.Columns))
	for i := range kinds {
		numbers, times, others := 0, 0, 0
		for _, line := range res.Lines {
			switch c := line[i]; {
			case c.Null:
			case c.Number:
				numbers++
			case c.Time:
				times++
			default:
				others++
			}
		}
		switch {
		case others == 0 && times == 0 && numbers > 0:
			kinds[i] = "number"
		case others == 0 && numbers == 0 && times > 0:
			kinds[i] = "time"
		default:
			kinds[i] = "text"
		}
	}
	return kinds
}

func (res *result) addRows(stream *exec.RowStream) error {
	if stream.Into != "" {
		return invalid("a page writes no files; leave out `into`, and download the result")
	}
	var rows []gridRow
	defer func() { res.Grid = arrange(stream.Table, rows, nil) }()
	read := 0
	for row, err := range stream.All() {
		if err != nil {
			return err
		}
		if len(rows) == resultRows || read >= pageBytes {
			res.More = true
			return nil
		}
		g := gridRowOf(row, rowCells)
		rows, read = append(rows, g), read+g.size
	}
	res.More = stream.More()
	return nil
}

// A resultCell is a value of a line.
type resultCell struct {
	Text   string
	Null   bool
	Number bool   // Text belongs to the right
	Time   bool   // a moment or a day
	Size   string // of a value that is longer; "" of others
}

func (res *result) addLine(values []any) {
	line := make([]resultCell, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case nil:
			line[i].Null = true
		case cells.Value:
			line[i] = resultCell{Text: valueText(value, longValue), Number: isNumber(value.Type())}
		case cells.Timestamp:
			line[i].Text, line[i].Time = moment(value), true
		case int64, float64:
			line[i] = resultCell{Text: fmt.Sprint(value), Number: true}
		default:
			line[i].Text = printable(fmt.Sprint(value))
		}
	}
	res.Lines = append(res.Lines, line)
}

// addQueried takes the values of a query as the shell shows them.
func (res *result) addQueried(q *exec.Queried) error {
	for i := range q.Columns {
		res.Columns = append(res.Columns, q.Name(i))
	}
	read := 0
	for values, err := range q.All() {
		if err != nil {
			return err
		}
		if len(res.Lines) == resultRows || read >= pageBytes {
			res.More = true
			return nil
		}
		line := make([]resultCell, len(values))
		for i, value := range values {
			if line[i].Null = value == nil; line[i].Null {
				continue
			}
			text := shell.ShownValue(value)
			read += len(text)
			if len(text) > 4*shortValue {
				line[i].Size = schema.FormatSize(int64(len(text)))
				text = strings.ToValidUTF8(text[:4*shortValue], "") + "…"
			}
			kind := q.Columns[i].Type.Kind
			line[i].Text, line[i].Number, line[i].Time = printable(text), q.Columns[i].Type.Numeric(), kind.Temporal()
		}
		res.Lines = append(res.Lines, line)
	}
	return nil
}

// limited keeps the first resultBytes.
type limited struct {
	bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := len(p)
	if room := resultBytes - l.Len(); n > room {
		p, l.over = p[:room], true
	}
	_, err := l.Buffer.Write(p)
	return n, err
}
