package transfer

import "fmt"

// A record is one line of a file, or several where a quoted field has line
// breaks: the fields that the spec uses. It is good until the next one is read;
// the texts are good for ever.
type record struct {
	file   string
	line   int // the first line, from 1
	lines  int // how many
	names  []string
	fields []field // as in names
}

// A field is the text of one value.
type field struct {
	text  string
	state fieldState
	code  code
}

type fieldState uint8

const (
	absent  fieldState = iota // JSON null, or not there
	present                   // as text
	nested                    // a JSON object or list
	typed                     // as text, of a file in which null is not empty text
)

// decoded is the text of a present field.
func (r *record) decoded(field int) (string, *LineError) {
	f := &r.fields[field]
	text, problem := f.code.decode(f.text)
	if problem != "" {
		return "", r.fault(field, "%s", problem)
	}
	return text, nil
}

// fault is an error about a field of the record.
func (r *record) fault(field int, format string, args ...any) *LineError {
	e := r.wrong(format, args...)
	e.Field = r.names[field]
	return e
}

// wrong is an error about the record.
func (r *record) wrong(format string, args ...any) *LineError {
	return &LineError{File: r.file, Line: r.line, Lines: max(r.lines, 1), Problem: fmt.Sprintf(format, args...)}
}

// A recordReader reads a file record by record.
type recordReader interface {
	// next reads the next record into rec. The error is io.EOF at the end; a
	// *LineError when this record is bad and the next one may be read; another
	// error when the file cannot be read any further.
	next(rec *record) error
	// close reports, at the end of the file, faults that only the end shows.
	close() error
}

// maxRecord bounds the memory for one record, in bytes. It is larger than the
// largest value, even when all of it is escaped in JSON.
const maxRecord = 256 << 20

// openRecords makes the reader of a format.
func openRecords(f format, file string, src *source, names *fieldNames) (recordReader, error) {
	switch {
	case f.parquet:
		return newParquetReader(file, src.file, src.counter.onRead, names)
	case f.json:
		return newJSONReader(file, src.text, names)
	}
	return newCSVReader(file, src.text, names)
}
