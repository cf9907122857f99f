package sql

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error is what is wrong with a query, with its parameters, or with a value
// that it comes to, and where in the query that is. All errors of the package are
// of this type.
type Error struct {
	Message string
	// Line and Column count from 1, columns in characters; they are 0 when the
	// error is of no place.
	Line, Column int
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s [at %d:%d]", e.Message, e.Line, e.Column)
}

// invalid is an error of no place.
func invalid(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// A source is the text of a query, in which errors have their places.
type source struct{ text string }

// errorf is an error at a byte of the text.
func (s source) errorf(pos int, format string, args ...any) error {
	before := s.text[:min(pos, len(s.text))]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &Error{fmt.Sprintf(format, args...), line + 1, column + 1}
}

// placed gives an error of no place one.
func (s source) placed(err error, pos int) error { return s.errorf(pos, "%s", err) }
