package parse

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A TokenKind is what a token of a query is.
type TokenKind uint8

const (
	EndToken TokenKind = iota
	WordToken
	QuotedToken // a name in backquotes
	StringToken
	BytesToken
	IntToken
	FloatToken
	ParamToken
	SignToken
)

// A token is a word, a literal or a sign, and where it begins.
type token struct {
	kind TokenKind
	pos  int
	text string // of a literal, its value
}

// is reports whether the token is a keyword or a sign.
func (t token) is(what string) bool {
	return t.kind == SignToken && t.text == what || t.kind == WordToken && strings.EqualFold(t.text, what)
}

func (t token) String() string {
	switch t.kind {
	case EndToken:
		return "the end of the query"
	case StringToken, BytesToken:
		return "a literal"
	}
	return strconv.Quote(t.text)
}

type lexer struct {
	Source
	at     int
	tokens []token
}

// tokenize reads the tokens of a query; the last is the end.
func tokenize(s Source) ([]token, error) {
	l := lexer{Source: s}
	for {
		if err := l.skip(); err != nil {
			return nil, err
		}
		if l.at == len(l.text) {
			return append(l.tokens, token{kind: EndToken, pos: l.at}), nil
		}
		if err := l.next(); err != nil {
			return nil, err
		}
	}
}

// skip passes over space and comments.
func (l *lexer) skip() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			l.at++
		case rest[0] == '#' || strings.HasPrefix(rest, "--"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				l.at += n
			} else {
				l.at = len(l.text)
			}
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return l.Errorf(l.at, "Syntax error: the comment does not end")
			}
			l.at += n + 4
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) add(kind TokenKind, n int, text string) {
	l.tokens = append(l.tokens, token{kind, l.at, text})
	l.at += n
}

var signs = []string{"|>", "->", "||", "<<", ">>", "<=", ">=", "<>", "!=", "=>", "=", "<", ">", "(", ")", "[", "]", "}", ",", ".", "*", "-", "+", "/", "|", "&", "^", "~", ";"}

func (l *lexer) next() error {
	rest := l.text[l.at:]
	if n := literalPrefix(rest); n >= 0 {
		return l.literal(strings.ToLower(rest[:n]))
	}
	c := rest[0]
	switch {
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number()
	case isWord(c):
		n := wordLen(rest)
		l.add(WordToken, n, rest[:n])
		return nil
	case strings.HasPrefix(rest, "@{"):
		l.add(SignToken, 2, "@{")
		return nil
	case c == '@':
		n := wordLen(rest[1:])
		if n == 0 {
			return l.Errorf(l.at, "Syntax error: @ wants the name of a parameter after it")
		}
		l.add(ParamToken, n+1, rest[1:n+1])
		return nil
	case c == '`':
		n := strings.IndexByte(rest[1:], '`')
		if n <= 0 {
			return l.Errorf(l.at, "Syntax error: the name in backquotes is empty or does not end")
		}
		l.add(QuotedToken, n+2, rest[1:n+1])
		return nil
	}
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			l.add(SignToken, len(s), s)
			return nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return l.Errorf(l.at, "Syntax error: unexpected %q", r)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c)
}

func wordLen(s string) int {
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	return n
}

// literalPrefix is the length of the letters before a literal's quote, -1 where
// no literal begins: b for bytes, r for no escapes.
func literalPrefix(s string) int {
	for n := 0; n < min(len(s), 3); n++ {
		switch s[n] {
		case '\'', '"':
			return n
		case 'b', 'B', 'r', 'R':
		default:
			return -1
		}
	}
	return -1
}

func (l *lexer) number() error {
	rest := l.text[l.at:]
	hex := strings.HasPrefix(rest, "0x") || strings.HasPrefix(rest, "0X")
	n := 0
	for n < len(rest) && (isWord(rest[n]) || rest[n] == '.' ||
		!hex && (rest[n] == '-' || rest[n] == '+') && (rest[n-1] == 'e' || rest[n-1] == 'E')) {
		n++
	}
	text := rest[:n]
	if strings.ContainsAny(text, ".eE") && !hex {
		if _, err := strconv.ParseFloat(text, 64); err != nil || strings.Contains(text, "_") {
			return l.Errorf(l.at, "Syntax error: %.100q is not a number", text)
		}
		l.add(FloatToken, n, text)
		return nil
	}
	for i := range len(text) {
		if !isDigit(text[i]) && !hex {
			return l.Errorf(l.at, "Syntax error: %.100q is not a number", text)
		}
	}
	l.add(IntToken, n, text)
	return nil
}

func (l *lexer) literal(prefix string) error {
	kind, raw := StringToken, strings.Contains(prefix, "r")
	if strings.Contains(prefix, "b") {
		kind = BytesToken
	}
	body := l.text[l.at+len(prefix):]
	quote := body[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(body, triple) {
		quote = triple // it may have lines and quotes within
	}
	var value []byte
	for i := len(quote); i < len(body); {
		switch c := body[i]; {
		case strings.HasPrefix(body[i:], quote):
			if kind == StringToken && !utf8.Valid(value) {
				return l.Errorf(l.at, "Syntax error: the string is not valid UTF-8; b'…' has any bytes")
			}
			l.add(kind, len(prefix)+i+len(quote), string(value))
			return nil
		case c == '\r' && len(quote) == 3: // each end of a line is a line feed, as in GoogleSQL
			value = append(value, '\n')
			if i++; strings.HasPrefix(body[i:], "\n") {
				i++
			}
		case c == '\n' && len(quote) == 1:
			return l.Errorf(l.at, "Syntax error: the literal does not end on its line")
		case c != '\\' || i+1 == len(body):
			value = append(value, c)
			i++
		case raw:
			value = append(value, body[i:i+2]...)
			i += 2
		default:
			var n int
			if value, n = appendEscape(value, body[i:], kind); n == 0 {
				return l.Errorf(l.at+len(prefix)+i, "Syntax error: illegal escape sequence")
			}
			i += n
		}
	}
	return l.Errorf(l.at, "Syntax error: the literal does not end")
}

var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '?': '?', '"': '"', '\'': '\'', '`': '`'}

// appendEscape appends the meaning of the escape sequence at the front of s, and
// returns the sequence's length, 0 when it is not valid.
func appendEscape(dst []byte, s string, kind TokenKind) ([]byte, int) {
	if c, ok := escapes[s[1]]; ok {
		return append(dst, c), 2
	}
	digits, from, base := 0, 2, 16
	switch s[1] {
	case 'x', 'X':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '0', '1', '2', '3':
		digits, from, base = 3, 1, 8
	}
	if digits == 0 || len(s) < from+digits || digits > 3 && kind == BytesToken {
		return dst, 0
	}
	n, err := strconv.ParseUint(s[from:from+digits], base, 32)
	switch {
	case err != nil:
		return dst, 0
	case kind == BytesToken:
		return append(dst, byte(n)), from + digits
	case !utf8.ValidRune(rune(n)):
		return dst, 0
	}
	return utf8.AppendRune(dst, rune(n)), from + digits
}
