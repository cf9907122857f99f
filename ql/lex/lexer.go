package lex

import (
	"strings"
	"unicode/utf8"
)

const unclosedBracket = "unclosed bracket; quote it if it belongs to a name, a value or a pattern"

// A lexer cuts a text into tokens. Its methods report a mistake by a panic with an
// *Error.
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
	begun     bool                             // the last token was no End
}

// Tokens cuts one statement into tokens; the last token is an End. dashes makes the
// error for a -- that does not begin a comment; rest is the text after the dashes.
func Tokens(src Source, dashes func(at Pos, rest string) *Error) (toks []Token, err error) {
	defer Recover(&err)
	return newLexer(src, dashes).tokens(), nil
}

// Recover, when it is deferred, sets err to the *Error with which the function panicked.
func Recover(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// maxTokens bounds the time and memory that a statement takes before it is understood.
const maxTokens = 1_000_000

func newLexer(src Source, dashes func(at Pos, rest string) *Error) *lexer {
	return &lexer{src: src.Text, dashes: dashes, line: src.Pos.Line, begin: 1 - src.Pos.Col}
}

func (l *lexer) tokens() []Token {
	var toks []Token
	for {
		gap := l.off
		newline := l.skipSpace()
		if newline || l.off == len(l.src) {
			toks = append(toks, Token{Kind: End, Pos: l.pos()})
			l.begun = false
			switch {
			case l.off < len(l.src):
				continue
			case l.depth > 0 && !l.partial:
				panic(&Error{Pos: l.open, Msg: unclosedBracket, Incomplete: true})
			}
			return toks
		}
		t, ok := l.pattern(toks)
		if !ok {
			t = l.token()
		}
		l.last = l.off
		t.Glued = gap == l.off-len(t.Text) && len(toks) > 0
		if len(toks) == maxTokens {
			panic(ErrorAt(t.Pos, "a statement has at most %d words and marks", maxTokens))
		}
		toks = append(toks, t)
		l.begun = true
	}
}

func (l *lexer) pos() Pos { return l.posAt(l.off) }

// posAt returns the place of an offset on the lexer's current line.
func (l *lexer) posAt(off int) Pos { return Pos{l.line, off - l.begin + 1} }

func (l *lexer) nextLine(off int) {
	l.line++
	l.begin = off + 1
}

// skipSpace skips blanks, comments, continued lines and, in brackets, newlines.
// It stops after a newline or semicolon that ends the statement.
func (l *lexer) skipSpace() (ended bool) {
	for l.off < len(l.src) {
		rest := l.src[l.off:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.off++
		case rest[0] == '\n':
			l.nextLine(l.off)
			l.off++
			if l.depth == 0 && !(l.begun && continues(l.src[l.off:min(len(l.src), l.off+maxAhead)])) {
				return true
			}
		case rest[0] == ';' && l.depth == 0:
			l.off++
			return true
		case strings.HasPrefix(rest, "--") && len(rest) > 2 && !isSpace(rest[2]):
			panic(l.dashesError(rest[2:]))
		case strings.HasPrefix(rest, "--"), rest[0] == '#' && l.pos().Col == 1:
			l.skipComment()
		case rest[0] == '\\':
			if !l.continuedLine(rest) {
				panic(ErrorAt(l.pos(), `unexpected \; it stands at the end of a line, to continue it, or within double quotes`))
			}
		default:
			return false
		}
	}
	return false
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

func (l *lexer) token() Token {
	if c := l.src[l.off]; isBareByte(c) || c == '"' || c == '\'' {
		return l.word()
	}
	at := l.pos()
	for _, mark := range marks {
		if strings.HasPrefix(l.src[l.off:], mark) {
			l.off += len(mark)
			l.bracket(mark, at)
			return Token{Kind: Mark, Text: mark, Pos: at}
		}
	}
	if l.src[l.off] == '!' {
		panic(ErrorAt(at, `unexpected "!"; the comparison is !=, and the negation not`))
	}
	panic(ErrorAt(at, "unexpected %s; quote it if it belongs to a name or a value", QuoteText(l.src[l.off:l.off+1])))
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

// word reads a word: its parts up to the next space or mark.
func (l *lexer) word() Token {
	begin, t := l.off, Token{Kind: Word, Pos: l.pos()}
	for l.off < len(l.src) && (l.src[l.off] == '"' || l.src[l.off] == '\'' || isBareByte(l.src[l.off])) {
		switch l.src[l.off] {
		case '"':
			l.doubleQuoted(&t)
		case '\'':
			l.singleQuoted(&t)
		default:
			l.bareRun(&t)
		}
	}
	t.Text = l.src[begin:l.off]
	return t
}

// notUTF8 is the mistake of a byte that is in no character.
func notUTF8(at Pos, c byte) *Error {
	return ErrorAt(at, `byte %#02x is not UTF-8; write it as "\x%02x" in double quotes, or bytes of a value as x'%02x'`, c, c, c)
}

// checkQuoted refuses bytes that are not UTF-8 in a quoted text from begin to off.
func (l *lexer) checkQuoted(begin int) {
	text := l.src[begin:l.off]
	if utf8.ValidString(text) {
		return
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			panic(notUTF8(l.posAt(begin+i), text[i]))
		}
		if i += size; r == '\n' {
			l.nextLine(begin + i - 1)
		}
	}
}

// pattern reads a pattern between slashes after =~ or regex=, as it stands. It ends with a
// slash before a space, a mark that closes or the end of the line. Quotes in it make it a word.
func (l *lexer) pattern(before []Token) (t Token, ok bool) {
	if l.src[l.off] != '/' || !wantsPattern(before) {
		return t, false
	}
	line, _, _ := strings.Cut(l.src[l.off:], "\n")
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			i++
		case line[i] == '"' || line[i] == '\'':
			return t, false
		case line[i] == '/' && (i+1 == len(line) || strings.IndexByte(" \t\r,;)}]", line[i+1]) >= 0):
			text := line[:i+1]
			if !utf8.ValidString(text) {
				return t, false
			}
			at := l.pos()
			l.off += len(text)
			return Token{Kind: Word, Text: text, Pos: at, Parts: []Part{{Bare, text, at}}}, true
		}
	}
	return t, false
}

// wantsPattern reports whether the tokens end with =~ or regex=.
func wantsPattern(toks []Token) bool {
	n := len(toks)
	if n < 2 {
		return false
	}
	a, b := toks[n-2], toks[n-1]
	return a.Text == "=" && b.Text == "~" && b.Glued || a.Keyword() == "regex" && b.Text == "="
}

func (l *lexer) bareRun(t *Token) {
	begin := l.off
	for l.off < len(l.src) && isBareByte(l.src[l.off]) {
		r, size := utf8.DecodeRuneInString(l.src[l.off:])
		switch {
		case r == utf8.RuneError && size == 1:
			panic(notUTF8(l.pos(), l.src[l.off]))
		case !isBareRune(r):
			panic(lookalikeError(l.pos(), r))
		}
		l.off += size
	}
	t.Parts = append(t.Parts, Part{Bare, l.src[begin:l.off], l.posAt(begin)})
}
