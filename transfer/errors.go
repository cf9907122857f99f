package transfer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Error returns "key=: problem", or only the problem if Part is empty.
func (e *SpecError) Error() string {
	if e.Part == "" {
		return e.Problem
	}
	return e.Part + "=: " + e.Problem
}

func specErrorf(part, format string, args ...any) error {
	return &SpecError{Part: part, Problem: fmt.Sprintf(format, args...)}
}

// A LineError is a mistake in one record of a file.
type LineError struct {
	File string
	Line int // the first line of the record, counted from 1
	// Lines is the number of lines of the record. It exceeds 1 if a quoted field
	// contains line breaks or a quote is not closed.
	Lines int
	// Field is the name of the field; "" if the mistake is not in a single field.
	Field string
	// Problem names the offending value and the correct form.
	Problem string

	number int // the line in all files of the import
}

// Error returns "file:line: field f: problem".
func (e *LineError) Error() string {
	field := ""
	if e.Field != "" {
		field = "field " + e.Field + ": "
	}
	return fmt.Sprintf("%s:%d: %s%s", e.File, e.Line, field, e.Problem)
}

// An Error is the error of an import that failed entirely or in part.
type Error struct {
	// Err is the cause. If there are more bad lines than allowed, it is a [*LineError]
	// for the first line beyond the limit. Otherwise it is an error of reading the
	// file, of the database, or of the context.
	Err error
	// Rows is the number of rows written in batches before the failure; they stay.
	Rows int64
	// BadLines is the number of bad lines among the lines read.
	BadLines int64
}

// Error returns the cause and the outcome of the import.
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	return e.Err
}

// quote returns a value for a message: quoted, and shortened if it is long.
func quote(s string) string { return strconv.Quote(excerpt.Of(s)) }

// fileError returns an error of opening without the name of the system call.
func fileError(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// readError returns an error in the middle of a file, after this number of whole lines.
func readError(path string, line int, err error) error {
	switch {
	case strings.HasSuffix(strings.ToLower(path), ".gz"):
		return unpackError(path, "gzip", line, err)
	case strings.HasSuffix(strings.ToLower(path), ".zst"):
		return unpackError(path, "zstd", line, err)
	}
	return fmt.Errorf("%s: cannot be read after line %d: %w", path, line, err)
}

func unpackError(path, name string, line int, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fileError(path, pe)
	}
	if line == 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: is not %s data: %w", path, name, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the %s data is cut off after line %d: %w", path, name, line, err)
	}
	return fmt.Errorf("%s: the %s data is damaged after line %d: %w", path, name, line, err)
}
