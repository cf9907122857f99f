package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/ql/lex"
)

// forPeople reports whether the format may have messages among its rows.
func forPeople(format string) bool {
	return format == "table" || format == "line" || format == "cbt" || format == "markdown"
}

// say writes a message for people to the results.
func (s *Session) say(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format+"\n", args...)
	return err
}

// note writes a message for people to Err.
func (s *Session) note(format string, args ...any) {
	if !s.opt.Quiet {
		s.out.flush()
		fmt.Fprintf(s.opt.Err, format+"\n", args...)
	}
}

func (s *Session) printRecord(texts ...string) error {
	_, err := s.out.WriteString(s.record()(presentFields(texts), s.out.terminal))
	return err
}

// record returns the fields of a line of csv or tsv.
func (s *Session) record() func(fields []field, terminal bool) string {
	if s.format == "tsv" {
		return tsvRecord
	}
	return csvRecord
}

// at adds a place to an error, unless it already carries one or is not about a statement.
func at(p lex.Pos, err error) error {
	if placed := (*lex.Error)(nil); err == nil || errors.As(err, &placed) || errors.Is(err, errReported) ||
		errors.Is(err, ErrOutputClosed) || errors.Is(err, ErrNothingFound) || errors.Is(err, ErrDifferent) || errors.Is(err, context.Canceled) {
		return err
	}
	return &lex.Error{Pos: p, Msg: lex.Escape(err.Error()), Err: err}
}
