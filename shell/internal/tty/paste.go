package tty

import (
	"bufio"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

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

// Marks that the line editor keeps in a line: characters that no keyboard types.
const (
	// pastedTab precedes a pasted tab. Its width is 0. The completer removes it and
	// inserts the meaning of the tab.
	pastedTab = '\u0089'
	// pastedLine precedes the end of a line after which the paste goes on.
	pastedLine = '\u0082'
	// A byte that is in no character is two characters of these, for its halves: the
	// editor reads characters, and would replace it.
	byteHigh, byteLow = '\ufdd0', '\ufde0'
)

// A pasteReader reads typed input and prepares it for the line editor. Bytes that are not
// UTF-8 are marked. In pasted text, line ends become the Enter key's, tabs and line ends
// are marked, and other control characters are dropped, because the editor would treat them
// as commands.
type pasteReader struct {
	r       io.Reader
	out     []byte // ready to read
	char    []byte // the beginning of a character
	matched int    // matched bytes of a mark
	pasting bool
	wasCR   bool // the last pasted byte is a carriage return
	ended   bool // a pasted line ended: whether more follows is not known yet
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
				p.emit(c)
			} else {
				p.endChar()
				p.endLine(false)
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
	p.emit(c)
}

// endLine passes on the end of a pasted line, which is the end of the text unless more of
// it follows.
func (p *pasteReader) endLine(more bool) {
	if !p.ended {
		return
	}
	if more {
		p.out = append(p.out, string(pastedLine)...)
	}
	p.out, p.ended = append(p.out, '\r'), false
}

// emit passes on a byte. A byte that begins a character waits for the others.
func (p *pasteReader) emit(c byte) {
	if p.char = append(p.char, c); c < utf8.RuneSelf {
		p.char = p.char[:len(p.char)-1]
		p.endChar()
		p.out = append(p.out, c)
		return
	}
	for len(p.char) > 0 && utf8.FullRune(p.char) {
		r, size := utf8.DecodeRune(p.char)
		if r == utf8.RuneError && size == 1 || byteHigh <= r && r < byteLow+16 {
			for _, b := range p.char[:size] {
				p.mark(b)
			}
		} else {
			p.out = append(p.out, p.char[:size]...)
		}
		p.char = p.char[size:]
	}
}

// endChar passes on the beginning of a character that does not go on.
func (p *pasteReader) endChar() {
	for _, b := range p.char {
		p.mark(b)
	}
	p.char = p.char[:0]
}

func (p *pasteReader) mark(b byte) {
	p.out = append(p.out, string([]rune{byteHigh + rune(b>>4), byteLow + rune(b&15)})...)
}

// pasted passes on a byte of pasted text.
func (p *pasteReader) pasted(c byte) {
	wasCR := p.wasCR
	p.wasCR = c == '\r'
	switch {
	case c == '\n' && wasCR: // one line end
	case c == '\n' || c == '\r':
		p.endChar()
		p.endLine(true)
		p.ended = true
	case c == '\t':
		p.endChar()
		p.endLine(true)
		p.out = append(p.out, string(pastedTab)+"\t"...)
	case c >= ' ' && c != 0x7f:
		p.endLine(true)
		p.emit(c)
	}
}

// Input is the input of a line editor.
type Input struct {
	buffer *bufio.Reader
	pastes *pasteReader // nil: the editor reads the terminal itself
	file   *os.File
}

// InputOf returns the input of a line editor that reads in. With pastes, the editor reads
// through a pasteReader. The editor offers no option for its input, so the reader under
// its buffer is replaced. If the buffer cannot be reached, InputOf returns nil: pasted
// tabs trigger completion, and pasted lines run one by one.
func InputOf(editor *liner.State, in *os.File, pastes bool) *Input {
	field := reflect.ValueOf(editor).Elem().FieldByName("r")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*bufio.Reader]() || field.IsNil() {
		return nil
	}
	i := &Input{buffer: (*bufio.Reader)(field.UnsafePointer()), file: in}
	if pastes {
		i.pastes = &pasteReader{r: in}
		i.buffer.Reset(i.pastes)
	}
	return i
}

// Waiting reports whether there is input that the editor has not read, such as further
// lines of a text that was pasted. The editor must not be reading.
func (i *Input) Waiting() bool {
	return i != nil && (i.buffer.Buffered() > 0 || i.pastes != nil && len(i.pastes.out) > 0 || waiting(i.file.Fd()))
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

// Unmark returns a line of the editor without marks, and with the bytes that were typed.
// more says that the paste goes on after the line.
func Unmark(line string) (text string, more bool) {
	line, more = strings.CutSuffix(line, string(pastedLine))
	var b strings.Builder
	high := rune(-1)
	for _, r := range line {
		switch {
		case r == pastedTab, r == pastedLine:
		case byteHigh <= r && r < byteHigh+16:
			high = r - byteHigh
		case byteLow <= r && r < byteLow+16 && high >= 0:
			b.WriteByte(byte(high<<4 | (r - byteLow)))
			high = -1
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), more
}
