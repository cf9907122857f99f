package lex

import "unicode"

// A scanState decides where a statement ends. It tracks quotes, brackets, comments and
// continued lines. It takes one byte at a time, so that a script need not fit in
// memory. It finds the same quotes, comments and brackets as the lexer.
type scanState struct {
	mode    scanMode
	escaped bool // the last byte was a backslash: in "…" it escapes, outside it may continue the line
	dash    bool // the last byte was a - at the start of a word, perhaps the first of a comment
	inWord  bool
	started bool // something other than spaces and comments was read
	depth   int  // open brackets

	pos     Pos // of the next byte
	quote   Pos // the place of the last opening quote
	unquote Pos // the place after the last ' that closed one
	bracket Pos // the place of the outermost open bracket
}

type scanMode uint8

const (
	scanPlain scanMode = iota
	scanDouble
	scanSingle
	scanDashes // after --, which begins a comment if a space follows
	scanComment
	scanMistake // the rest of a line with -- that does not begin a comment; the lexer says what is wrong
)

func newScanState(at Pos) scanState { return scanState{pos: at} }

// step takes one byte and reports whether it ends the statement: a newline or a
// semicolon outside quotes, brackets and comments.
func (s *scanState) step(c byte) (ends bool) {
	at := s.pos
	s.pos.Col++
	if c == '\n' {
		s.pos = Pos{s.pos.Line + 1, 1}
	}
	switch s.mode {
	case scanDouble:
		s.stepDouble(c)
	case scanSingle:
		if c == '\'' {
			s.mode, s.unquote = scanPlain, s.pos
		}
	case scanDashes:
		if s.mode = scanComment; !isSpace(c) {
			s.mode, s.started = scanMistake, true
		}
		return s.stepComment(c)
	case scanComment, scanMistake:
		return s.stepComment(c)
	default:
		return s.stepPlain(c, at)
	}
	return false
}

// stepComment skips to the end of the line.
func (s *scanState) stepComment(c byte) (ends bool) {
	if c != '\n' {
		return false
	}
	s.mode = scanPlain
	return s.depth == 0
}

// isSpace reports whether c separates words.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func (s *scanState) stepDouble(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.mode = scanPlain
	}
}

func (s *scanState) stepPlain(c byte, at Pos) (ends bool) {
	if c == '\r' { // a space, except between a \ and its newline
		s.started = s.started || s.dash
		s.inWord, s.dash = false, false
		return false
	}
	continued, dash := s.escaped, s.dash
	s.escaped, s.dash = false, false
	if c == '-' && dash {
		s.mode, s.inWord = scanDashes, false
		return false
	}
	if c == '#' && at.Col == 1 {
		s.mode, s.inWord = scanComment, false
		return false
	}
	s.started = s.started || dash || continued && c != '\n'
	wasWord := s.inWord
	s.inWord = isBareByte(c)
	switch c {
	case '\n':
		return !continued && s.depth == 0
	case ';':
		return s.depth == 0
	case ' ', '\t':
		return false
	case '\\':
		s.escaped = true
		return false
	case '-':
		s.dash = !wasWord
		s.started = s.started || wasWord
		return false
	}
	s.started = true
	s.punctuation(c, at)
	return false
}

// punctuation tracks quotes and brackets.
func (s *scanState) punctuation(c byte, at Pos) {
	switch c {
	case '"':
		s.mode, s.quote, s.inWord = scanDouble, at, true
	case '\'':
		if at != s.unquote || !s.unquote.IsValid() { // '' is one quote within a text
			s.quote = at
		}
		s.mode, s.inWord = scanSingle, true
	case '(', '[', '{':
		if s.depth == 0 {
			s.bracket = at
		}
		s.depth++
	case ')', ']', '}':
		s.depth = max(0, s.depth-1)
	}
}

// incomplete returns an error for what is open at the end of the text, or nil.
func (s *scanState) incomplete() *Error {
	var e *Error
	switch {
	case s.mode == scanDouble:
		e = ErrorAt(s.quote, `unterminated " quote`)
	case s.mode == scanSingle:
		e = ErrorAt(s.quote, "unterminated ' quote")
	case s.depth > 0:
		e = ErrorAt(s.bracket, unclosedBracket)
	case s.escaped:
		e = ErrorAt(s.pos, `the text ends after a \, which continues the line`)
	default:
		return nil
	}
	e.Incomplete = true
	return e
}

// Complete reports whether src can run as it is: no quote and no bracket is open, and
// no \ continues the last line.
func Complete(src string) bool {
	s := newScanState(Pos{1, 1})
	for i := range len(src) {
		if s.step(src[i]) {
			s = newScanState(s.pos)
		}
	}
	return s.incomplete() == nil
}

// isBareByte reports whether c can be part of a bare word. Bytes of a UTF-8 sequence
// can; the lexer checks the whole character.
func isBareByte(c byte) bool { return c >= 0x80 || bareASCII[c] }

var bareASCII = func() (t [0x80]bool) {
	for c := range t {
		r := rune(c)
		t[c] = unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	for _, c := range "_./#:@%+~^*-" {
		t[c] = true
	}
	return t
}()

// isBareRune reports whether r can be in a bare word: the ASCII characters of
// bareASCII, and letters of any script with their marks.
func isBareRune(r rune) bool {
	if r < 0x80 {
		return bareASCII[r]
	}
	return unicode.IsLetter(r) || unicode.In(r, unicode.Mn, unicode.Mc)
}
