package lex

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// A Kind is the kind of a token.
type Kind uint8

const (
	End  Kind = iota // the end of the statement: ;, a newline, or the end of the text
	Word             // bare, in quotes, or parts of both that go together
	Mark             // one of ( ) [ ] { } , = == != <> < <= > >= =>
)

// A Token is one word or mark of a statement.
type Token struct {
	Kind  Kind
	Text  string // as written
	Pos   Pos
	Glued bool // no space between the token before and this one
	Parts []Part
}

// A Part is a run of a word: bare characters, or what one pair of quotes holds.
type Part struct {
	Quote Quote
	Text  string // decoded
	Pos   Pos
}

// A Quote is how a part of a word is quoted.
type Quote uint8

const (
	Bare   Quote = iota
	double       // "…"
	Single       // '…'
	Binary       // x'…' and b64'…'
)

// BareText is the text of a word that is one bare part, else "".
func (t Token) BareText() string {
	if t.Kind == Word && len(t.Parts) == 1 && t.Parts[0].Quote == Bare {
		return t.Parts[0].Text
	}
	return ""
}

// Keyword is BareText in lower case: keywords do not mind case.
func (t Token) Keyword() string { return strings.ToLower(t.BareText()) }

func equalKeyword(s, keyword string) bool { return strings.EqualFold(s, keyword) }

// Join is the text of all parts.
func Join(parts []Part) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Describe names the token in a message.
func (t Token) Describe() string {
	if t.Kind == End {
		return "the end of the statement"
	}
	if t.Kind == Word && t.Parts[0].Quote != Bare {
		return Printable(Clip(t.Text))
	}
	return QuoteText(Clip(t.Text))
}

// Clip shortens hostile input for a message.
func Clip(s string) string {
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:64], "") + "…"
}

const unclosedBracket = "unclosed bracket; quote it if it belongs to a name, a value or a pattern"

type lexer struct {
	src   string
	off   int
	line  int // of off
	begin int // offset of the first byte of that line; negative when src begins within a line
	depth int
	open  Pos // where the outermost open bracket stands

	dashes    func(at Pos, rest string) *Error // see Tokens
	partial   bool                             // the text may end anywhere
	openQuote byte                             // then the quote that is open at its end, or 0
	last      int                              // where the last token ends
}

// Tokens cuts one statement into tokens, the last of them an End. dashes makes the error of
// a -- that does not begin a comment; rest is the text after it.
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

// posAt is the place of an offset on the lexer's current line.
func (l *lexer) posAt(off int) Pos { return Pos{l.line, off - l.begin + 1} }

// nextLine takes account of the newline at off.
func (l *lexer) nextLine(off int) {
	l.line++
	l.begin = off + 1
}

// skipSpace skips blanks, comments, continued lines and, in brackets, newlines.
// It stops behind a newline or semicolon that ends the statement.
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

// continuedLine skips a \ and the newline behind it.
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

// marks lists longer ones before those they begin with.
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

// whole is the word from begin to here, whose parts must go together.
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

// singleQuoted reads '…', in which two quotes in a row mean one. After a bare x or b64, at
// the start of the word or behind its colon, the text is bytes in hexadecimal or base64.
func (l *lexer) singleQuoted(t *Token) error {
	at, begin := l.pos(), l.off
	text, ok := l.untilSingle()
	if !ok && l.partial {
		l.openQuote = '\''
		t.Parts = append(t.Parts, Part{Single, strings.ReplaceAll(l.src[begin+1:], "''", "'"), at})
		l.off = len(l.src)
		return nil
	}
	if !ok {
		return &Error{Pos: at, Msg: "unterminated ' quote", Incomplete: true}
	}
	p := Part{Single, strings.ReplaceAll(text, "''", "'"), at}
	if prefix := t.bytesPrefix(); prefix != "" {
		var err error
		if p, err = bytesPart(t, prefix, p); err != nil {
			return err
		}
	}
	l.countLines(begin)
	t.Parts = append(t.Parts, p)
	return nil
}

// untilSingle moves behind the ' that closes the one at off and returns what
// stands between.
func (l *lexer) untilSingle() (string, bool) {
	begin := l.off + 1
	for i := begin; i < len(l.src); i++ {
		if l.src[i] != '\'' {
			continue
		}
		if i+1 < len(l.src) && l.src[i+1] == '\'' {
			i++
			continue
		}
		l.off = i + 1
		return l.src[begin:i], true
	}
	return "", false
}

// countLines takes account of newlines within the quotes from begin to off.
func (l *lexer) countLines(begin int) {
	for i := begin; i < l.off; i++ {
		if l.src[i] == '\n' {
			l.nextLine(i)
		}
	}
}

// bytesPrefix is "x" or "b64" when the word read so far ends in it and a quote
// would begin a bytes literal.
func (t *Token) bytesPrefix() string {
	if len(t.Parts) == 0 || t.Parts[len(t.Parts)-1].Quote != Bare {
		return ""
	}
	run := t.Parts[len(t.Parts)-1].Text
	tail := strings.ToLower(run[strings.LastIndexByte(run, ':')+1:])
	if tail != "x" && tail != "b64" || len(tail) == len(run) && len(t.Parts) > 1 {
		return ""
	}
	return tail
}

// bytesPart decodes a bytes literal and takes its prefix off the word.
func bytesPart(t *Token, prefix string, p Part) (Part, error) {
	last := &t.Parts[len(t.Parts)-1]
	last.Text = last.Text[:len(last.Text)-len(prefix)]
	if last.Text == "" {
		t.Parts = t.Parts[:len(t.Parts)-1]
	}
	var b []byte
	var err error
	if prefix == "x" {
		b, err = hex.DecodeString(p.Text)
	} else {
		b, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(p.Text, "="))
	}
	if err != nil {
		what := map[string]string{"x": "pairs of hexadecimal digits, as in x'00ff'", "b64": "base64, as in b64'AP8='"}
		return Part{}, ErrorAt(p.Pos, "%s is not %s", QuoteText(Clip(p.Text)), what[prefix])
	}
	return Part{Binary, string(b), p.Pos}, nil
}

func (l *lexer) doubleQuoted(t *Token) error {
	at, begin := l.pos(), l.off
	var b strings.Builder
	for i := begin + 1; i < len(l.src); {
		switch c := l.src[i]; c {
		case '"':
			l.off = i + 1
			l.countLines(begin)
			t.Parts = append(t.Parts, Part{double, b.String(), at})
			return nil
		case '\\':
			n, err := unescape(&b, l.src[i+1:])
			if err != nil {
				l.off = i
				l.countLines(begin)
				err.Pos = l.pos()
				return err
			}
			i += 1 + n
		default:
			b.WriteByte(c)
			i++
		}
	}
	if l.partial {
		l.openQuote = '"'
		t.Parts = append(t.Parts, Part{double, b.String(), at})
		l.off = len(l.src)
		return nil
	}
	return &Error{Pos: at, Msg: `unterminated " quote`, Incomplete: true}
}

// unescape writes what the escape means whose text after the backslash begins
// s, and returns its length.
func unescape(b *strings.Builder, s string) (int, *Error) {
	if s == "" {
		return 0, nil // the quote is unterminated, which the caller says
	}
	if i := strings.IndexByte(escapeNames, s[0]); i >= 0 {
		b.WriteByte(escapeBytes[i])
		return 1, nil
	}
	switch s[0] {
	case 'x':
		if n, ok := hexDigits(s[1:], 2); ok {
			b.WriteByte(byte(n))
			return 3, nil
		}
		return 0, ErrorAt(Pos{}, `\x wants two hexadecimal digits, as in \x0a`)
	case 'u':
		n, ok := hexDigits(s[1:], 4)
		if ok && utf8.ValidRune(rune(n)) {
			b.WriteRune(rune(n))
			return 5, nil
		}
		return 0, ErrorAt(Pos{}, `\u wants the four hexadecimal digits of a character, as in \u00e9`)
	}
	return 0, ErrorAt(Pos{}, `unknown escape \%s; there are \\ \" \n \r \t \0 \xNN and \uNNNN`, Printable(s[:runeLen(s)]))
}

const (
	escapeNames = `\"nrt0`
	escapeBytes = "\\\"\n\r\t\x00"
)

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func hexDigits(s string, n int) (v uint32, ok bool) {
	if len(s) < n {
		return 0, false
	}
	for i := range n {
		d := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if d < 0 || s[i] < '0' {
			return 0, false
		}
		v = v<<4 | uint32(d)
	}
	return v, true
}
