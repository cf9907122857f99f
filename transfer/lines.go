package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// textLines reads the lines of a text, which end in LF, CRLF or CR.
type textLines struct {
	in          *bufio.Reader
	first, last int // the lines of the current record, counted from 1
	keep        bool
	text        []byte // with keep, the text of the current record
	long        []byte
}

// begin reads the first line of a record, past empty ones and comments; "" begins none.
func (l *textLines) begin(comment []byte) ([]byte, error) {
	for {
		l.first = l.last + 1
		l.text = l.text[:0]
		line, err := l.next()
		if err != nil || !isLineEnd(line) && (len(comment) == 0 || !bytes.HasPrefix(line, comment)) {
			return line, err
		}
	}
}

// next returns the next line with its end, which the last one may lack. It is valid until
// the next call. The error is io.EOF at the end.
func (l *textLines) next() ([]byte, error) {
	line, err := l.line()
	if l.keep {
		l.text = append(l.text, line...)
	}
	return line, err
}

func (l *textLines) line() ([]byte, error) {
	l.long = l.long[:0]
	for {
		if _, err := l.in.Peek(1); err != nil {
			if !errors.Is(err, io.EOF) || len(l.long) == 0 {
				return nil, err
			}
			l.last++
			return l.long, nil
		}
		part, _ := l.in.Peek(l.in.Buffered())
		end := lineEnd(part)
		if end < 0 {
			l.long = append(l.long, part...)
			l.discard(len(part))
			continue
		}
		if part[end] == '\r' && end+1 == len(part) { // its LF may be in the next buffer
			l.long = append(l.long, part...)
			l.discard(len(part))
			if lf, _ := l.in.Peek(1); len(lf) == 1 && lf[0] == '\n' {
				l.long = append(l.long, '\n')
				l.discard(1)
			}
			l.last++
			return l.long, nil
		}
		if end++; part[end-1] == '\r' && part[end] == '\n' {
			end++
		}
		l.last++
		l.discard(end)
		if len(l.long) == 0 {
			return part[:end], nil
		}
		l.long = append(l.long, part[:end]...)
		return l.long, nil
	}
}

func (l *textLines) discard(n int) { _, _ = l.in.Discard(n) } // they are in its buffer

// lineEnd is the index of the first LF or CR; -1: b contains neither.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// isLineEnd reports whether nothing but the end of a line is left of it.
func isLineEnd(b []byte) bool { return len(b) == 0 || b[0] == '\n' || b[0] == '\r' }
