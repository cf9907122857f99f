package transfer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query"
)

// A SpecError is the error of an import whose spec is wrong: a malformed
// template, or a field or family that does not exist.
type SpecError struct {
	// Part is the part of the spec, by its name in the language: "key",
	// "columns", "ts"; empty for the table and the file.
	Part    string
	Problem string
}

// Error is "key=: problem".
func (e *SpecError) Error() string {
	if e == nil {
		return "<nil>"
	}
	if e.Part == "" {
		return e.Problem
	}
	return e.Part + "=: " + e.Problem
}

func specErrorf(part, format string, args ...any) error {
	return &SpecError{Part: part, Problem: fmt.Sprintf(format, args...)}
}

// A LineError is a fault in one record of a file.
type LineError struct {
	File string
	Line int // the first line of the record, counted from 1
	// Lines is how many lines the record takes: more than one where a quoted
	// field has line breaks, or where a quote is not closed.
	Lines int
	// Field is the name of the field; empty when the fault concerns no single
	// field.
	Field string
	// Problem names the offending value and what would be right.
	Problem string
}

// Error is "file:line: field f: problem".
func (e *LineError) Error() string {
	if e == nil {
		return "<nil>"
	}
	field := ""
	if e.Field != "" {
		field = "field " + e.Field + ": "
	}
	return fmt.Sprintf("%s:%d: %s%s", e.File, e.Line, field, e.Problem)
}

// An Error is the error of an import that failed, wholly or in part.
type Error struct {
	// Err is the cause: a [*LineError] when there are more bad lines than are
	// tolerated, then the first one too many; otherwise an error of reading the
	// file, of the database, or of the context.
	Err error
	// Rows is how many rows were written before, in batches; they stay.
	Rows int64
	// BadLines is how many bad lines were among those read.
	BadLines int64
}

// Error is the cause and the outcome of the import.
func (e *Error) Error() string {
	if e == nil || e.Err == nil {
		return "<nil>"
	}
	var b strings.Builder
	b.WriteString(e.Err.Error())
	if _, ok := e.Err.(*LineError); ok && e.BadLines > 1 {
		fmt.Fprintf(&b, " (one of %d bad lines; bad-lines=%d would leave them out)", e.BadLines, e.BadLines)
	}
	failure, _ := errors.AsType[*query.Error](e.Err)
	switch {
	case failure != nil && failure.Kind == query.KindUnknownOutcome:
		b.WriteString("; it is imported as a whole or not at all")
	case e.Rows == 0:
		b.WriteString("; nothing was imported")
	default:
		fmt.Fprintf(&b, "; the %d rows imported before it stay", e.Rows)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// quote is a value as messages show it: quoted, and shortened where it is long.
func quote(s string) string { return strconv.Quote(excerpt.Of(s)) }
