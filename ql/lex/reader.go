package lex

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
)

// A Source is the text of one statement and its place.
type Source struct {
	Text string
	Pos  Pos
	// Session marks a line that begins with . or \ where a statement could
	// begin: a command of the session (.mode csv, \q), not of the language.
	Session bool
}

// A Reader cuts a script into statements. It holds one statement at a time, so
// a script may be of any length.
type Reader struct {
	r      *bufio.Reader
	pos    Pos
	whole  bool // the script is all there: looking ahead does not wait
	typed  bool
	isVerb func(word string) bool // reports whether the word, in lower case, begins a statement
	err    error                  // once set, returned by every call
}

// NewReader returns a Reader of the script r, whose first byte is at 1:1. A
// byte order mark at the very start is skipped. isVerb reports whether a word, in
// lower case, begins a statement.
func NewReader(r io.Reader, isVerb func(word string) bool) *Reader {
	if r == nil || isVerb == nil {
		return new(Reader)
	}
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3)
	}
	return &Reader{r: b, pos: Pos{1, 1}, whole: isWhole(r), isVerb: isVerb}
}

// TypedReader returns a Reader of text that was typed at a terminal. There a query ends
// with a ; or an empty line, and not with its line.
func TypedReader(text string, isVerb func(word string) bool) *Reader {
	r := NewReader(strings.NewReader(text), isVerb)
	r.typed = true
	return r
}

// isWhole reports whether a reader never waits for input.
func isWhole(r io.Reader) bool {
	switch r := r.(type) {
	case *strings.Reader, *bytes.Reader, *bytes.Buffer:
		return true
	case *os.File:
		info, err := r.Stat()
		return err == nil && info.Mode().IsRegular()
	}
	return false
}

// Next returns the next statement or session command, and io.EOF after the last. If a
// quote or bracket is still open at the end, it returns an *[Error] with Incomplete
// set. Other errors are a mistake in the script or come from its reader.
func (r *Reader) Next() (Source, error) {
	if r == nil || r.r == nil {
		return Source{}, ErrorAt(Pos{}, "there is no script; NewReader takes one")
	}
	for r.err == nil {
		src, err := r.next()
		if err != nil {
			r.err = err
		}
		if src.Text != "" {
			return src, nil
		}
	}
	return Source{}, r.err
}

// next reads up to the next end of a statement. The text is empty if there were only
// spaces and comments. A text may come with io.EOF.
func (r *Reader) next() (Source, error) {
	var text strings.Builder
	state := newScanState(r.pos)
	state.typed = r.typed
	if !r.whole {
		state.there = func(n int) string { return r.ahead(min(n, r.r.Buffered())) }
	}
	src := Source{Pos: r.pos}
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return r.end(src, &state, &text, err)
		}
		if !state.started && !state.escaped && state.mode == scanPlain && beginsCommand(c, r.ahead) {
			return r.command(state.pos, c)
		}
		before := state.pos
		ends := state.step(c, r.ahead)
		r.pos = state.pos
		if !state.started && !state.escaped {
			text.Reset() // so far only spaces and comments
			src.Pos = r.pos
			if ends {
				return Source{}, nil
			}
			continue
		}
		if ends {
			if err := r.checkSemicolon(c, before, text.String()); err != nil {
				return Source{}, err
			}
			return r.end(src, &state, &text, nil)
		}
		if text.Len() == 0 {
			src.Pos = before
		}
		text.WriteByte(c)
	}
}

// end finishes a statement at a newline, a semicolon or the end of the script.
func (r *Reader) end(src Source, s *scanState, text *strings.Builder, err error) (Source, error) {
	if err != nil && !errors.Is(err, io.EOF) {
		return Source{}, err
	}
	if open := s.incomplete(); err != nil && open != nil {
		return Source{}, open
	}
	if s.started {
		src.Text = strings.TrimRight(text.String(), " \t\r")
	}
	return src, err
}

// checkSemicolon refuses a ; that touches a word on both sides, unless the second word
// begins a statement: in `delete t a;b` the ; was meant as part of the key. If no byte
// after the ; is buffered, checkSemicolon does not wait for one, because the program
// that sends the statements may be waiting for an answer.
func (r *Reader) checkSemicolon(c byte, at Pos, before string) error {
	if c != ';' || before == "" || !isWordByte(before[len(before)-1]) || r.r.Buffered() == 0 {
		return nil
	}
	word := r.wordAhead()
	if word == "" || r.isVerb(strings.ToLower(word)) || word == "--" || word[0] == '.' {
		return nil
	}
	return ErrorAt(at, "; ends a statement here, and %s does not begin one; quote the word that has the ;", QuoteText(strings.ToValidUTF8(Clip(word), "")))
}

// wordAhead returns the next word, or the first 64 bytes of a longer one.
func (r *Reader) wordAhead() string {
	const most = 64
	for n := 0; ; n++ {
		ahead, err := r.r.Peek(n + 1)
		if err != nil || n == most || !isWordByte(ahead[n]) {
			return string(ahead[:min(n, len(ahead))])
		}
	}
}

// isWordByte reports whether c can be part of a word, quotes included.
func isWordByte(c byte) bool { return isBareByte(c) || c == '"' || c == '\'' }

func (r *Reader) ahead(n int) string {
	b, _ := r.r.Peek(n)
	return string(b)
}

// beginsCommand reports whether c, a . or \, begins a session command. A \ before the
// end of its line only continues the line.
func beginsCommand(c byte, next lookahead) bool {
	return c == '.' || c == '\\' && strings.Trim(next(1), "\r\n") != ""
}

func (r *Reader) command(at Pos, first byte) (Source, error) {
	rest, err := r.r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return Source{}, err
	}
	r.pos = Pos{at.Line + 1, 1}
	return Source{Text: strings.TrimSpace(string(first) + rest), Pos: at, Session: true}, err
}
