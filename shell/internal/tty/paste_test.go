package tty_test

import (
	"os"
	"testing"

	"github.com/peterh/liner"

	"github.com/smolwc/smolwc/shell/internal/tty"
)

func TestPastedTextIsFreedOfCommandsToTheEditor(t *testing.T) {
	const begin, end, tab = "\x1b[200~", "\x1b[201~", "\u0089\t"
	for _, c := range []struct{ typed, read string }{
		{"a\tb\x03\x1b[A", "a\tb\x03\x1b[A"},
		{begin + "a\tb\r\nc\nd\re" + end + "\tf", begin + "a" + tab + "b\rc\rd\re\tf"},
		{begin + "a\x03\x04\x1b[31mb\x7f\x1b[201" + end + end, begin + "a[31mb[201" + end},
		{begin + "é\x1b" + end, begin + "é"},
		{"\x1b[20" + begin + "x" + end + "y", "\x1b[20" + begin + "xy"},
		{begin + "\x1b\x1b[201~\t", begin + "\t"},
	} {
		if got := tty.Pasted(c.typed); got != c.read {
			t.Errorf("%q is read as %q, want %q", c.typed, got, c.read)
		}
		var bytewise []string
		for _, b := range []byte(c.typed) {
			bytewise = append(bytewise, string([]byte{b}))
		}
		if got := tty.Pasted(bytewise...); got != c.read {
			t.Errorf("%q, byte by byte, is read as %q, want %q", c.typed, got, c.read)
		}
	}
}

// The line editor offers no other way to its input than its own buffer.
func TestTheLineEditorReadsThroughTheShell(t *testing.T) {
	if editor := liner.NewLiner(); !tty.ReadPastes(editor, os.Stdin) {
		t.Error("liner no longer has the buffer that it read from")
	}
}
