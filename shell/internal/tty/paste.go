package tty

import (
	"bufio"
	"bytes"
	"io"
	"reflect"
	"strings"

	"github.com/peterh/liner"
)

// With these sequences the terminal marks pasted text, so that a pasted tab is not
// taken for the Tab key.
const (
	MarkPastes   = "\x1b[?2004h"
	UnmarkPastes = "\x1b[?2004l"
	pasteBegins  = "\x1b[200~"
	pasteEnds    = "\x1b[201~"
)

// pastedTab precedes a pasted tab. It is a character that no keyboard has and that has
// no width. The completer removes it and inserts the meaning of the tab.
const pastedTab = '\u0089'

// A pasteReader reads typed input and prepares pasted text for the line editor: line
// ends become those of the Enter key, tabs are marked, and other control characters are
// dropped, because the editor would treat them as commands.
type pasteReader struct {
	r       io.Reader
	out     []byte // ready to read
	matched int    // matched bytes of a mark
	pasting bool
	wasCR   bool // the last pasted byte is a carriage return
}

func (p *pasteReader) Read(b []byte) (int, error) {
	for len(p.out) == 0 {
		chunk := make([]byte, 4096)
		n, err := p.r.Read(chunk)
		for _, c := range chunk[:n] {
			p.take(c)
		}
		if err != nil && len(p.out) == 0 {
			return 0, err
		}
	}
	n := copy(b, p.out)
	p.out = p.out[n:]
	return n, nil
}

// take reads one byte. Outside a paste every byte is passed on at once, because an
// escape may be the Escape key; the editor ignores the mark. Within a paste the bytes
// of a possible end mark are held back.
func (p *pasteReader) take(c byte) {
	mark := pasteBegins
	if p.pasting {
		mark = pasteEnds
	}
	if c != mark[p.matched] {
		if p.pasting { // not the end mark: its escape is dropped, the rest is text
			for i := 1; i < p.matched; i++ {
				p.pasted(mark[i])
			}
		}
		p.matched = 0
	}
	if c == mark[p.matched] {
		if p.matched++; p.matched == len(mark) {
			if !p.pasting {
				p.out = append(p.out, c)
			}
			p.pasting, p.matched, p.wasCR = !p.pasting, 0, false
			return
		}
		if p.pasting {
			return
		}
	}
	if p.pasting {
		p.pasted(c)
		return
	}
	p.out = append(p.out, c)
}

// pasted passes on a byte of pasted text.
func (p *pasteReader) pasted(c byte) {
	wasCR := p.wasCR
	p.wasCR = c == '\r'
	switch {
	case c == '\n' && wasCR: // one line end
	case c == '\n' || c == '\r':
		p.out = append(p.out, '\r')
	case c == '\t':
		p.out = append(p.out, string(pastedTab)+"\t"...)
	case c >= ' ' && c != 0x7f:
		p.out = append(p.out, c)
	}
}

// ReadPastes makes the line editor read through a pasteReader. The editor has no option
// for its input, so the reader under its buffer is replaced. If the buffer cannot be
// reached, pasted tabs trigger completion and ReadPastes reports false.
func ReadPastes(editor *liner.State, in io.Reader) bool {
	field := reflect.ValueOf(editor).Elem().FieldByName("r")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*bufio.Reader]() || field.IsNil() {
		return false
	}
	(*bufio.Reader)(field.UnsafePointer()).Reset(&pasteReader{r: in})
	return true
}

// UnmarkTab removes the mark of a pasted tab from the end of the text and returns the
// meaning of the tab: a space between words, its escape within double quotes, a tab
// within single quotes.
func UnmarkTab(head string) (rest, tab string, pasted bool) {
	rest, pasted = strings.CutSuffix(head, string(pastedTab))
	if !pasted {
		return head, "", false
	}
	switch openQuote(rest) {
	case '"':
		return rest, `\t`, true
	case '\'':
		return rest, "\t", true
	}
	return rest, " ", true
}

// openQuote returns the quote that is open at the end of the text, or 0.
func openQuote(text string) byte {
	open := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case open == '"' && c == '\\':
			i++
		case open == 0 && (c == '"' || c == '\''):
			open = c
		case open != 0 && c == open:
			open = 0
		}
	}
	return open
}

// DropMarks removes marks that have no tabs from a line that the editor returns.
func DropMarks(line string) string {
	if !bytes.ContainsRune([]byte(line), pastedTab) {
		return line
	}
	return strings.ReplaceAll(line, string(pastedTab), "")
}
