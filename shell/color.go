package shell

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// The settings of .color.
const (
	colorAuto = "auto" // on a terminal, if Options.Color
	colorOn   = "on"
	colorOff  = "off"
)

// A palette marks words with colours for a terminal; the zero palette changes nothing.
// Marks do not change the displayed width of a text.
type palette struct{ on bool }

func (p palette) mark(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// key marks a row key.
func (p palette) key(text string) string { return p.mark("1", text) }

// dim marks text that is less important than the text beside it.
func (p palette) dim(text string) string { return p.mark("2", text) }

func (p palette) fault(text string) string { return p.mark("31", text) }

// column marks the family of a column, up to its colon.
func (p palette) column(text string) string {
	family, qualifier, ok := strings.Cut(text, ":")
	if !ok {
		return p.dim(text)
	}
	return p.dim(family+":") + qualifier
}

func (s *Session) palette(terminal bool) palette {
	switch s.color {
	case colorOn:
		return palette{true}
	case colorAuto:
		return palette{terminal && s.opt.Color}
	}
	return palette{}
}

func (s *Session) faults() palette { return s.palette(s.opt.ErrTerminal) }

// oneOf checks an argument that must be one of a few words.
func oneOf(arg string, words ...string) (string, error) {
	for _, w := range words {
		if strings.EqualFold(arg, w) {
			return w, nil
		}
	}
	last := len(words) - 1
	return "", fmt.Errorf("expected %s or %s, not %s", strings.Join(words[:last], ", "), words[last], lex.QuoteText(arg))
}
