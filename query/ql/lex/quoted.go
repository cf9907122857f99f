package lex

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// singleQuoted reads '…', in which two quotes in a row mean one. After a bare x or b64, at
// the start of the word or after its colon, the text is bytes in hexadecimal or base64.
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

// untilSingle moves past the ' that closes the quote at off and returns the text
// between the two.
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

// countLines counts the newlines within the quotes from begin to off.
func (l *lexer) countLines(begin int) {
	for i := begin; i < l.off; i++ {
		if l.src[i] == '\n' {
			l.nextLine(i)
		}
	}
}

// bytesPrefix returns "x" or "b64" if the word so far ends in it and a quote would
// begin a bytes literal; else "".
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

// bytesPart decodes a bytes literal and removes its prefix from the word.
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

// unescape decodes an escape and writes the result. s is the text after the backslash.
// unescape returns the length of the escape in s.
func unescape(b *strings.Builder, s string) (int, *Error) {
	if s == "" {
		return 0, nil // the quote is unterminated; the caller reports it
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
