package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/smolwc/smolwc/internal/parquetrows"
)

// A parquetReader reads the rows of a Parquet file as records. Null is an absent value;
// an empty string is a value. Lists and groups are nested fields. A record's line is
// its row number, counted from 1. Columns that no field uses are not read.
type parquetReader struct {
	path   string
	file   *parquetrows.File
	fields []int // by the index of the chosen column
	nested []int // the fields that are lists or groups
}

// A countedFile reports how much of a file was read.
type countedFile struct {
	*os.File
	onRead func(n int)
}

func (c *countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.File.ReadAt(p, off)
	if c.onRead != nil {
		c.onRead(n)
	}
	return n, err
}

func newParquetReader(path string, f *os.File, onRead func(int), names *fieldNames) (*parquetReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fileError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: a Parquet file is read from its end, which a pipe does not have", path)
	}
	in := &countedFile{File: f}
	file, err := parquetrows.Open(in, info.Size(), plainText)
	if err != nil {
		return nil, fmt.Errorf("%s: is not a Parquet file, or damaged: %w", path, err)
	}
	in.onRead = onRead // count the rows only, not the footer
	p := &parquetReader{path: path, file: file}
	return p, p.choose(names)
}

func (p *parquetReader) choose(names *fieldNames) error {
	known := newHeader(p.file.Fields())
	for field := range names.names {
		at, _, err := names.find(field, known)
		if at < 0 && names.parts[field] == "" { // the field is optional
			continue
		}
		if err != nil {
			return specErrorf(names.parts[field], "%s: %v", p.path, err)
		}
		ok, err := p.file.Choose(at)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", p.path, err)
		case ok:
			p.fields = append(p.fields, field)
		default:
			p.nested = append(p.nested, field)
		}
	}
	return nil
}

func (p *parquetReader) next(rec *record) error {
	clear(rec.fields)
	err := p.file.Next(func(i int, text string) { rec.fields[p.fields[i]] = field{text: text, state: typed} })
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	for _, f := range p.nested {
		rec.fields[f] = field{state: nested}
	}
	rec.line, rec.lines = p.file.Row(), 1
	return err
}

func (p *parquetReader) raw() (header, record []byte) { return nil, nil }

func (p *parquetReader) close() error { return nil }
