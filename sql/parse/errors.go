package parse

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error is a fault of a query, of its parameters, or of a value that it
// computes, with its place in the query. All errors of the package are of this
// type.
type Error struct {
	Message string
	// Line and Column count from 1, columns in characters; they are 0 for an
	// error without a place.
	Line, Column int
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s [at %d:%d]", e.Message, e.Line, e.Column)
}

// Invalid is an error without a place.
func Invalid(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// A Source is the text of a query, in which errors have their places.
type Source struct {
	text    string
	nowhere bool
}

// Nowhere is the source of a query made of several texts: its errors have no places.
var Nowhere = Source{nowhere: true}

// Errorf is an error at a byte of the text.
func (s Source) Errorf(pos int, format string, args ...any) error {
	if s.nowhere {
		return &Error{Message: fmt.Sprintf(format, args...)}
	}
	before := s.text[:min(pos, len(s.text))]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &Error{fmt.Sprintf(format, args...), line + 1, column + 1}
}

// Placed gives an error a place.
func (s Source) Placed(err error, pos int) error { return s.Errorf(pos, "%s", err) }
