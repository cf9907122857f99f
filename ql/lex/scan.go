package lex

import "unicode"

// A scanState decides where a statement ends. It tracks quotes, brackets, comments and
// continued lines. It takes one byte at a time, so that a script need not fit in
// memory. It finds the same quotes, comments and brackets as the lexer.
type scanState struct {
	mode    scanMode
	escaped bool // the last byte was a backslash: in "…" it escapes, outside it may continue the line
	inWord  bool
	started bool // something other than spaces and comments was read
	depth   int  // open brackets
	sql     sqlState
	typed   bool // a query ends with a ; or an empty line: see TypedReader
	blank   bool // only spaces in the line so far

	pos     Pos // of the next byte
	quote   Pos // the place of the last opening quote
	unquote Pos // the place after the last closing '
	bracket Pos // the place of the outermost open bracket

	// there returns the bytes that can be read without waiting; nil: lookahead does not wait.
	there lookahead
}

// goesOn reports whether the lines after a newline go on with the statement.
func (s *scanState) goesOn(next lookahead) bool {
	if s.there != nil {
		next = s.there
	}
	rest := next(maxAhead)
	switch {
	case !s.sql.is:
		return s.started && continues(rest)
	case s.typed:
		return !s.blank || s.sql.goesOn(rest)
	}
	return s.sql.goesOn(rest)
}

type scanMode uint8

const (
	scanPlain scanMode = iota
	scanDouble
	scanSingle
	scanBackquote // a name in a query
	scanComment   // also the rest of a line with -- that does not begin a comment; the lexer says what is wrong
)

// A lookahead returns the next n bytes of a text, or all if there are fewer.
type lookahead func(n int) string

// ahead returns the lookahead at the start of the text.
func ahead(text string) lookahead {
	return func(n int) string { return text[:min(n, len(text))] }
}

func newScanState(at Pos) scanState { return scanState{pos: at} }

// step takes one byte and reports whether it ends the statement: a newline or a
// semicolon outside quotes, brackets and comments.
func (s *scanState) step(c byte, next lookahead) (ends bool) {
	at := s.pos
	s.pos.Col++
	if c == '\n' {
		s.pos = Pos{s.pos.Line + 1, 1}
		defer func() { s.blank = true }()
	} else if !isSpace(c) {
		s.blank = false
	}
	switch s.mode {
	case scanDouble:
		s.stepDouble(c)
	case scanSingle:
		s.stepSingle(c)
	case scanBackquote:
		if c == '`' {
			s.mode = scanPlain
		}
	case scanComment:
		return s.stepComment(c, next)
	default:
		return s.stepPlain(c, at, next)
	}
	return false
}

func (s *scanState) stepComment(c byte, next lookahead) (ends bool) {
	if c != '\n' {
		return false
	}
	s.mode = scanPlain
	return s.depth == 0 && !s.goesOn(next)
}

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

func (s *scanState) stepSingle(c byte) {
	switch {
	case s.sql.is && s.escaped:
		s.escaped = false
	case s.sql.is && c == '\\':
		s.escaped = true
	case c == '\'':
		s.mode, s.unquote = scanPlain, s.pos
	}
}

func (s *scanState) stepPlain(c byte, at Pos, next lookahead) (ends bool) {
	if c == '\r' { // a space, except between a \ and its newline
		s.inWord = false
		return false
	}
	continued, wasWord := s.escaped, s.inWord
	s.escaped, s.inWord = c == '\\', isBareByte(c)
	s.started = s.started || continued && c != '\n'
	s.sql.step(c)
	switch c {
	case '\n':
		return !continued && s.depth == 0 && !s.goesOn(next)
	case ';':
		return s.depth == 0
	case ' ', '\t', '\\':
		return false
	}
	dashes := c == '-' && (!wasWord || s.sql.is) && next(1) == "-"
	if dashes || c == '#' && (at.Col == 1 || s.sql.is) {
		s.mode, s.inWord = scanComment, false
		s.started = s.started || dashes && len(next(2)) == 2 && !isSpace(next(2)[1])
		return false
	}
	s.started = true
	s.punctuation(c, at)
	return false
}

func (s *scanState) punctuation(c byte, at Pos) {
	switch c {
	case '"':
		s.mode, s.quote, s.inWord = scanDouble, at, true
	case '`':
		if s.sql.is {
			s.mode, s.quote = scanBackquote, at
		}
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

// incomplete returns an error for a quote or bracket open at the end of the text, or nil.
func (s *scanState) incomplete() *Error {
	var e *Error
	switch {
	case s.mode == scanDouble:
		e = ErrorAt(s.quote, `unterminated " quote`)
	case s.mode == scanSingle:
		e = ErrorAt(s.quote, "unterminated ' quote")
	case s.mode == scanBackquote:
		e = ErrorAt(s.quote, "unterminated ` quote")
	case s.depth > 0:
		e = ErrorAt(s.bracket, unclosedBracket)
	case s.escaped:
		e = ErrorAt(s.pos, `the text ends after a \, which continues the line`)
	case s.sql.open():
		e = ErrorAt(s.pos, "the query ends after %s", QuoteText(s.sql.last))
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
		if s.step(src[i], ahead(src[i+1:])) {
			s = newScanState(s.pos)
		}
	}
	return s.incomplete() == nil
}

// OpenText reports whether src ends within a text in quotes or a comment.
func OpenText(src string) bool {
	s := newScanState(Pos{1, 1})
	for i := range len(src) {
		s.step(src[i], ahead(src[i+1:]))
	}
	return s.mode == scanSingle || s.mode == scanDouble || s.mode == scanComment
}

// CompleteTyped is Complete for a text that is typed at a terminal, as a [TypedReader] reads
// it: a query needs a ; or an empty line after it.
func CompleteTyped(src string) bool {
	s := newScanState(Pos{1, 1})
	s.typed = true
	for i := range len(src) {
		if s.step(src[i], ahead(src[i+1:])) {
			s = newScanState(s.pos)
			s.typed = true
		}
	}
	s.sql.step(' ') // the text may end with the word
	if s.sql.is && (s.mode == scanPlain || s.mode == scanComment) && s.depth == 0 {
		return s.blank && s.pos.Line > 1 // perhaps it is a mistake: then the user sees it
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
