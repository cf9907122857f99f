package lex

import "strings"

// OneLine returns the text of statements on one line, with the same meaning. A newline
// becomes a space inside a statement, a semicolon between statements, and an escape
// inside quotes. Comments are left out. The text must be complete; see [Complete].
func OneLine(text string) string {
	if !strings.ContainsAny(text, "\n") {
		return text
	}
	var b strings.Builder
	s := newScanState(Pos{1, 1})
	taken := 0 // the text before this offset is written
	for i := range len(text) {
		c, was := text[i], s
		ends := s.step(c)
		if i < taken {
			continue
		}
		if was.mode == scanPlain && s.mode == scanSingle {
			if quoted, end := singleQuoted(text, i); strings.Contains(quoted, "\n") {
				b.WriteString(QuoteText(quoted))
				taken = end
				continue
			}
		}
		if was.mode == scanDashes && s.mode != scanMistake { // a comment: the dashes were taken
			cutLast(&b)
			cutLast(&b)
			was.mode = scanComment
		}
		switch {
		case was.mode == scanComment: // up to its newline, which may end a statement
			if c == '\n' && was.depth == 0 && was.started {
				endLine(&b)
			}
		case s.mode == scanComment:
		case c == '\n':
			joinLine(&b, was, ends)
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n' && was.mode == scanPlain:
		default:
			b.WriteByte(c)
		}
		if ends {
			s = newScanState(s.pos)
		}
	}
	if s.mode == scanDashes {
		cutLast(&b)
		cutLast(&b)
	}
	return strings.TrimRight(b.String(), " ;")
}

// singleQuoted returns the text in the ' quotes that open at i, and the offset after
// them.
func singleQuoted(text string, i int) (quoted string, end int) {
	l := &lexer{src: text, off: i}
	quoted, _ = l.untilSingle()
	return strings.ReplaceAll(quoted, "''", "'"), l.off
}

// joinLine writes the replacement of a newline.
func joinLine(b *strings.Builder, s scanState, ends bool) {
	switch {
	case s.mode == scanDouble:
		b.WriteString(`\n`)
	case s.escaped:
		cutLast(b)
		b.WriteByte(' ')
	case ends && s.started:
		endLine(b)
	case ends: // an empty line, or the end of one that ends in a semicolon
		if strings.HasSuffix(b.String(), ";") {
			b.WriteByte(' ')
		}
	default:
		b.WriteByte(' ')
	}
}

func endLine(b *strings.Builder) {
	text := strings.TrimRight(b.String(), " ;")
	b.Reset()
	b.WriteString(text)
	if text != "" {
		b.WriteString("; ")
	}
}

func cutLast(b *strings.Builder) {
	text := b.String()
	b.Reset()
	b.WriteString(text[:max(0, len(text)-1)])
}
