package shell

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// A rowPrinter writes the rows of one statement in one format.
type rowPrinter interface {
	// row prints the next row; it may hold back a few rows.
	row(*query.Row) error
	// end is called after the last row, unless there was an error.
	end() error
}

// rowPrinters has a constructor for each format.
var rowPrinters = map[string]func(*view) rowPrinter{
	"table": func(v *view) rowPrinter { return &tabular{view: v, style: tableStyle} },
	"markdown": func(v *view) rowPrinter {
		v.width, v.palette = 0, palette{}
		return &tabular{view: v, style: markdownStyle}
	},
	"line":  func(v *view) rowPrinter { return &linePrinter{view: v} },
	"cbt":   func(v *view) rowPrinter { return &cbtPrinter{v} },
	"json":  func(v *view) rowPrinter { return &jsonPrinter{view: v, array: true} },
	"jsonl": func(v *view) rowPrinter { return &jsonPrinter{view: v} },
	"csv":   func(v *view) rowPrinter { return newSeparated(v, csvRecord) },
	"tsv":   func(v *view) rowPrinter { return newSeparated(v, tsvRecord) },
	"quiet": func(v *view) rowPrinter { return quietPrinter{} },
}

// A view is the part of a statement that its row printer needs.
type view struct {
	out     *output
	stream  *exec.RowStream
	width   int // 0: no bound
	palette palette
	zone    *time.Location // of times; nil: UTC
}

func (v *view) declared(family string) cells.Type {
	if f, ok := v.stream.Table.Family(family); ok {
		return f.Type
	}
	return cells.TypeAny
}

// value returns a cell's value as a word of the language.
func (v *view) value(c cells.Cell) string { return lex.QuoteValueAs(c.Value, v.declared(c.Family)) }

// key returns a row key as a word of the language, or as a tuple if the table's keys
// are tuples.
func (v *view) key(key string) string { return ql.QuoteRowKey(v.stream.Table, key) }

// exactColumns returns the columns that the statement names, if it names each column
// exactly and asks for one version.
func (v *view) exactColumns() []ql.Column {
	if v.stream.Versioned() || v.stream.KeysOnly {
		return nil
	}
	return v.stream.ExactColumns()
}

// forPeople reports whether the format may have messages among its rows.
func forPeople(format string) bool {
	return format == "table" || format == "line" || format == "cbt" || format == "markdown"
}

// Print prints the result of a statement that the session did not run itself, in the
// session's format.
func (s *Session) Print(res exec.Result) error {
	if s == nil || s.out == nil {
		return errors.New("there is no session; New gives one")
	}
	_, err := s.print(context.Background(), res)
	return errors.Join(err, s.out.Flush())
}

// print prints a result and returns the number of printed rows.
func (s *Session) print(ctx context.Context, res exec.Result) (rows int, err error) {
	switch res := res.(type) {
	case *exec.RowStream:
		return s.printRows(ctx, res)
	case *exec.Queried:
		return s.printQueried(res)
	case *exec.Counted:
		return 0, s.printCount(res)
	case *exec.Watched:
		return s.printChanges(res)
	case *exec.Differences:
		return 0, s.printDifferences(res)
	case *exec.Listing:
		return 0, s.printListing(res)
	case *exec.Statistics:
		return 0, s.printStatistics(res)
	case *exec.Explained:
		return 0, s.printExplained(res)
	case *exec.Collected:
		return 0, s.printCollected(res)
	case *exec.Modified:
		return 0, s.printModified(res)
	case *exec.Matched:
		return 0, s.printFact(fmt.Sprintf("matched %t", res.Matched), []string{"matched"}, res.Matched)
	case *exec.Done:
		if res.Message != "" && forPeople(s.format) && !s.opt.Quiet {
			s.out.WriteString(res.Message + "\n")
		}
	case *exec.TableList:
		return 0, s.printTables(res.Tables)
	case *exec.Description:
		return 0, s.printDescription(res.Table)
	case *exec.HelpText:
		s.out.WriteString(res.Text)
	case *exec.Leave:
		s.left = true
	}
	return 0, nil
}

func (s *Session) printRows(ctx context.Context, stream *exec.RowStream) (int, error) {
	format := s.format
	if stream.Format != "" {
		format = stream.Format
	}
	s.next = nil
	print := func(stream *exec.RowStream) error { return s.printInto(ctx, stream) }
	if stream.Into == "" {
		printer := rowPrinters[format](&view{s.out, stream, s.width(), s.palette(s.out.terminal), s.runner.Zone})
		print = func(stream *exec.RowStream) error { return s.printAll(stream, printer) }
	}
	if err := print(stream); err != nil {
		return stream.Count(), err
	}
	if stream.Stats {
		s.out.flush()
		fmt.Fprintf(s.opt.Err, "-- %s\n", costLine(stream.Cost()))
	}
	if stream.Into == "" {
		s.next = stream.Next()
	}
	if token := stream.NextPage(); token != "" {
		s.out.flush()
		fmt.Fprintf(s.opt.Err, "-- next page: page=%s\n", token)
	}
	if stream.More() { // shown even with --quiet, because the rows look complete
		next := ", or .next"
		if !s.opt.Interactive {
			next = ""
		}
		s.out.flush()
		fmt.Fprintf(s.opt.Err, "-- more rows: add limit=0%s\n", next)
	}
	if _, isGet := stream.Statement.(*ql.Get); isGet && stream.Count() == 0 && s.opt.MustExist {
		return 0, &lex.Error{Pos: stream.Statement.Position(), Msg: ErrNothingFound.Error(), Err: ErrNothingFound}
	}
	return stream.Count(), nil
}

// printAll prints the rows while they are read. While it waits for the next row, it
// regularly shows rows that are held back.
func (s *Session) printAll(stream *exec.RowStream, printer rowPrinter) error {
	return printEach(s, stream.All(), printer, func(row *query.Row) error {
		s.seen.row(stream, row)
		return printer.row(row)
	})
}

// printEach prints rows of any kind with print, and then the end of the printer.
func printEach[R any](s *Session, rows iter.Seq2[R, error], printer interface{ end() error }, print func(R) error) error {
	s.out.flushed = s.out.flushed.Add(-flushEvery) // the first row is written at once
	var mu sync.Mutex                              // of the printer and the output
	stop := every(flushEvery, func() {
		mu.Lock()
		defer mu.Unlock()
		if p, ok := printer.(interface{ idle() error }); ok {
			_ = p.idle() // a write error stays in the output; the next row returns it
		}
		s.showHeld()
	})
	defer stop()
	for row, err := range rows {
		if err != nil {
			return err
		}
		mu.Lock()
		err = writeError(print(row))
		if err == nil {
			err = s.out.rowDone()
		}
		mu.Unlock()
		if err != nil {
			return err
		}
	}
	stop()
	return writeError(printer.end())
}

func (s *Session) showHeld() {
	_ = s.out.flush()
	_ = s.pager.Tick()
}

// every calls f at intervals until stop returns. stop may be called several times.
func every(d time.Duration, f func()) (stop func()) {
	ticker, quit, done := time.NewTicker(d), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		ticker.Stop()
		close(quit)
		<-done
	})
}

// printCount prints a count of rows as a bare number for scripts. Formats for people,
// and JSON, also say if it is an estimate.
func (s *Session) printCount(n *exec.Counted) error {
	names, values := []string{"rows"}, []any{n.Rows}
	text := fmt.Sprint(n.Rows)
	if n.WithCells {
		names, values = append(names, "cells"), append(values, n.Cells)
		text = fmt.Sprintf("%d %s, %d %s", n.Rows, unit(n.Rows, "row"), n.Cells, unit(n.Cells, "cell"))
	}
	if n.About {
		text = "about " + text + " (an estimate)"
	}
	if n.About && strings.HasPrefix(s.format, "json") {
		names, values = append(names, "estimate"), append(values, true)
	}
	err := s.printFact(text, names, values...)
	if n.Stats && err == nil {
		s.out.flush()
		fmt.Fprintf(s.opt.Err, "-- %s\n", costLine(n.Cost()))
	}
	return err
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

// printModified prints the new value: as a row in the JSON formats, else alone.
func (s *Session) printModified(m *exec.Modified) error {
	switch s.format {
	case "json", "jsonl":
		p := rowPrinters[s.format](&view{out: s.out, stream: &exec.RowStream{Table: m.Table}, zone: s.runner.Zone})
		if err := p.row(m.Row); err != nil {
			return err
		}
		return p.end()
	}
	v := view{stream: &exec.RowStream{Table: m.Table}}
	text := v.value(m.Cell)
	if s.format == "table" {
		text = cut(text, s.width())
	}
	return s.printFact(text, []string{"value"}, plainValue(m.Cell.Value))
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

func (s *Session) printRecord(texts ...string) error {
	_, err := s.out.WriteString(s.record()(presentFields(texts), s.out.terminal))
	return err
}

// record returns what makes a line of csv or tsv.
func (s *Session) record() func(fields []field, terminal bool) string {
	if s.format == "tsv" {
		return tsvRecord
	}
	return csvRecord
}

type quietPrinter struct{}

func (quietPrinter) row(*query.Row) error { return nil }
func (quietPrinter) end() error           { return nil }
