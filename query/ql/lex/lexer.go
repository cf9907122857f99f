package lex

import (
	"strings"
	"unicode/utf8"
)

const unclosedBracket = "unclosed bracket; quote it if it belongs to a name, a value or a pattern"

type lexer struct {
	src   string
	off   int
	line  int // the line of off
	begin int // offset of the first byte of that line; negative when src begins within a line
	depth int
	open  Pos // the place of the outermost open bracket

	dashes    func(at Pos, rest string) *Error // see Tokens
	partial   bool                             // the text may end anywhere
	openQuote byte                             // if partial, the quote that is open at the end, or 0
	last      int                              // the end of the last token
}

// Tokens cuts one statement into tokens; the last token is an End. dashes makes the
// error for a -- that does not begin a comment; rest is the text after the dashes.
func Tokens(src Source, dashes func(at Pos, rest string) *Error) ([]Token, error) {
	return newLexer(src, dashes).tokens()
}

func newLexer(src Source, dashes func(at Pos, rest string) *Error) *lexer {
	return &lexer{src: src.Text, dashes: dashes, line: src.Pos.Line, begin: 1 - src.Pos.Col}
}

func (l *lexer) tokens() ([]Token, error) {
	var toks []Token
	for {
		gap := l.off
		newline, err := l.skipSpace()
		if err != nil {
			return nil, err
		}
		if newline || l.off == len(l.src) {
			toks = append(toks, Token{Kind: End, Pos: l.pos()})
			switch {
			case l.off < len(l.src):
				continue
			case l.depth > 0 && !l.partial:
				return nil, &Error{Pos: l.open, Msg: unclosedBracket, Incomplete: true}
			}
			return toks, nil
		}
		t, err := l.token()
		if err != nil {
			return nil, err
		}
		l.last = l.off
		t.Glued = gap == l.off-len(t.Text) && len(toks) > 0
		toks = append(toks, t)
	}
}

func (l *lexer) pos() Pos { return l.posAt(l.off) }

// posAt returns the place of an offset on the lexer's current line.
func (l *lexer) posAt(off int) Pos { return Pos{l.line, off - l.begin + 1} }

// nextLine counts the newline at off.
func (l *lexer) nextLine(off int) {
	l.line++
	l.begin = off + 1
}

// skipSpace skips blanks, comments, continued lines and, in brackets, newlines.
// It stops after a newline or semicolon that ends the statement.
func (l *lexer) skipSpace() (ended bool, err error) {
	for l.off < len(l.src) {
		rest := l.src[l.off:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.off++
		case rest[0] == '\n':
			l.nextLine(l.off)
			l.off++
			if l.depth == 0 {
				return true, nil
			}
		case rest[0] == ';' && l.depth == 0:
			l.off++
			return true, nil
		case strings.HasPrefix(rest, "--") && len(rest) > 2 && !isSpace(rest[2]):
			return false, l.dashesError(rest[2:])
		case strings.HasPrefix(rest, "--"), rest[0] == '#' && l.pos().Col == 1:
			l.skipComment()
		case rest[0] == '\\':
			if !l.continuedLine(rest) {
				return false, ErrorAt(l.pos(), `unexpected \; it stands at the end of a line, to continue it, or within double quotes`)
			}
		default:
			return false, nil
		}
	}
	return false, nil
}

func (l *lexer) dashesError(rest string) *Error {
	if l.dashes == nil {
		return ErrorAt(l.pos(), "a comment is -- and a space; quote a word that begins with --")
	}
	return l.dashes(l.pos(), rest)
}

func (l *lexer) skipComment() {
	if n := strings.IndexByte(l.src[l.off:], '\n'); n >= 0 {
		l.off += n
		return
	}
	l.off = len(l.src)
}

// continuedLine skips a \ and the newline after it.
func (l *lexer) continuedLine(rest string) bool {
	n := 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], "\r"))
	if n == len(rest) || rest[n] != '\n' {
		return false
	}
	l.nextLine(l.off + n)
	l.off += n + 1
	return true
}

func (l *lexer) token() (Token, error) {
	if c := l.src[l.off]; isBareByte(c) || c == '"' || c == '\'' {
		return l.word()
	}
	at := l.pos()
	for _, mark := range marks {
		if strings.HasPrefix(l.src[l.off:], mark) {
			l.off += len(mark)
			l.bracket(mark, at)
			return Token{Kind: Mark, Text: mark, Pos: at}, nil
		}
	}
	if l.src[l.off] == '!' {
		return Token{}, ErrorAt(at, `unexpected "!"; the comparison is !=`)
	}
	return Token{}, ErrorAt(at, "unexpected %s; quote it if it belongs to a name or a value", QuoteText(l.src[l.off:l.off+1]))
}

// marks lists each mark before its prefixes.
var marks = []string{"&&", "||", "==", "=>", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", "{", "}", ","}

func (l *lexer) bracket(mark string, at Pos) {
	switch mark {
	case "(", "[", "{":
		if l.depth == 0 {
			l.open = at
		}
		l.depth++
	case ")", "]", "}":
		l.depth = max(0, l.depth-1)
	}
}

func (l *lexer) word() (Token, error) {
	begin, t := l.off, Token{Kind: Word, Pos: l.pos()}
	for l.off < len(l.src) {
		var err error
		switch c := l.src[l.off]; {
		case c == '"':
			err = l.doubleQuoted(&t)
		case c == '\'':
			err = l.singleQuoted(&t)
		case isBareByte(c):
			err = l.bareRun(&t)
		default:
			return l.whole(t, begin)
		}
		if err != nil {
			return Token{}, err
		}
	}
	return l.whole(t, begin)
}

// whole completes the word from begin to the current offset and checks that its parts
// fit together.
func (l *lexer) whole(t Token, begin int) (Token, error) {
	t.Text = l.src[begin:l.off]
	if !l.partial {
		if err := t.checkGlue(); err != nil {
			return Token{}, err
		}
	}
	return t, nil
}

func (l *lexer) bareRun(t *Token) error {
	begin := l.off
	for l.off < len(l.src) && isBareByte(l.src[l.off]) {
		r, size := utf8.DecodeRuneInString(l.src[l.off:])
		switch {
		case r == utf8.RuneError && size == 1:
			return ErrorAt(l.pos(), `byte %#02x is not UTF-8; write it as "\x%02x" in double quotes`, l.src[l.off], l.src[l.off])
		case !isBareRune(r):
			return lookalikeError(l.pos(), r)
		}
		l.off += size
	}
	t.Parts = append(t.Parts, Part{Bare, l.src[begin:l.off], l.posAt(begin)})
	return nil
}
