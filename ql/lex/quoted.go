package lex

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// singleQuoted reads '…', in which two quotes in a row mean one. After a bare x or b64, at
// the start of the word or after its colon, the text is bytes in hexadecimal or base64.
func (l *lexer) singleQuoted(t *Token) {
	at, begin := l.pos(), l.off
	text, ok := l.untilSingle()
	if !ok {
		l.unterminated('\'', at)
		text = l.src[begin+1:]
	}
	l.checkQuoted(begin)
	p := Part{Single, strings.ReplaceAll(text, "''", "'"), at}
	if prefix := t.bytesPrefix(); prefix != "" && ok {
		p = bytesPart(t, prefix, p)
	}
	l.countLines(begin)
	t.Parts = append(t.Parts, p)
}

// unterminated ends a quote at the end of the text. In a text that may not end there,
// that is a mistake.
func (l *lexer) unterminated(quote byte, at Pos) {
	if !l.partial {
		panic(&Error{Pos: at, Msg: "unterminated " + string(quote) + " quote", Incomplete: true})
	}
	l.openQuote = quote
	l.off = len(l.src)
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
func bytesPart(t *Token, prefix string, p Part) Part {
	last := &t.Parts[len(t.Parts)-1]
	last.Text = last.Text[:len(last.Text)-len(prefix)]
	if last.Text == "" {
		t.Parts = t.Parts[:len(t.Parts)-1]
	}
	what := "pairs of hexadecimal digits, as in x'00ff'"
	b, err := hex.DecodeString(p.Text)
	if prefix == "b64" {
		what = "base64, as in b64'AP8='"
		b, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(p.Text, "="))
	}
	if err != nil {
		panic(ErrorAt(p.Pos, "%s is not %s", QuoteText(Clip(p.Text)), what))
	}
	return Part{Binary, string(b), p.Pos}
}

func (l *lexer) doubleQuoted(t *Token) {
	at, begin := l.pos(), l.off
	var b strings.Builder
	for l.off++; l.off < len(l.src) && l.src[l.off] != '"'; {
		if c := l.src[l.off]; c != '\\' {
			b.WriteByte(c)
			l.off++
			continue
		}
		n, wrong := unescape(&b, l.src[l.off+1:])
		if wrong != "" {
			l.countLines(begin)
			panic(ErrorAt(l.pos(), "%s", wrong))
		}
		l.off += 1 + n
	}
	if l.off == len(l.src) {
		l.unterminated('"', at)
	} else {
		l.off++
	}
	l.checkQuoted(begin)
	l.countLines(begin)
	t.Parts = append(t.Parts, Part{double, b.String(), at})
}

// unescape decodes an escape and writes the result. s is the text after the backslash.
// unescape returns the length of the escape in s, or its fault.
func unescape(b *strings.Builder, s string) (n int, wrong string) {
	if s == "" {
		return 0, "" // the quote is unterminated; the caller reports it
	}
	if i := strings.IndexByte(escapeNames, s[0]); i >= 0 {
		b.WriteByte(escapeBytes[i])
		return 1, ""
	}
	switch s[0] {
	case 'x':
		v, ok := hexDigits(s[1:], 2)
		if !ok {
			return 0, `\x wants two hexadecimal digits, as in \x0a`
		}
		b.WriteByte(byte(v))
		return 3, ""
	case 'u':
		v, ok := hexDigits(s[1:], 4)
		if !ok || !utf8.ValidRune(rune(v)) {
			return 0, `\u wants the four hexadecimal digits of a character, as in \u00e9`
		}
		b.WriteRune(rune(v))
		return 5, ""
	}
	_, size := utf8.DecodeRuneInString(s)
	return 0, fmt.Sprintf(`unknown escape \%s; there are \\ \" \n \r \t \0 \xNN and \uNNNN`, Printable(s[:size]))
}

const (
	escapeNames = `\"nrt0`
	escapeBytes = "\\\"\n\r\t\x00"
)

func hexDigits(s string, n int) (v uint64, ok bool) {
	if len(s) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:n], 16, 32)
	return v, err == nil
}
