package shell

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// plural formats a count of things; many is the plural if it is irregular.
func plural[N int | int64](n N, one string, many ...string) string {
	return thousands(int64(n)) + " " + unit(n, one, many...)
}

// unit returns the name of the counted things, in the plural unless n is 1.
func unit[N int | int64](n N, one string, many ...string) string {
	if n == 1 {
		return one
	}
	return append(many, one+"s")[0]
}

func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return plural(n, "byte")
	}
	f, unit := float64(n), 0
	for f /= 1000; f >= 999.5 && unit < len(units)-1; f /= 1000 {
		unit++
	}
	return fmt.Sprintf("%.3g %cB", f, units[unit])
}

func elapsed(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dus", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
