package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

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
		return 0, s.printTables(res)
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
		printer := rowPrinters[format](&view{s.out, stream, s.width(), s.palette(s.out.terminal), s.runner.Zone, s.opt.Patient})
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

// printCount prints a count of rows as a bare number for scripts. Formats for people,
// and JSON, also say if it is an estimate.
func (s *Session) printCount(n *exec.Counted) error {
	names, values := []string{"rows"}, []any{n.Rows}
	text := fmt.Sprint(n.Rows)
	if n.WithCells {
		names, values = append(names, "cells"), append(values, n.Cells)
		text = fmt.Sprintf("%d %s, %d %s", n.Rows, humanize.Unit(n.Rows, "row"), n.Cells, humanize.Unit(n.Cells, "cell"))
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
