package tty_test

import (
	"os"
	"strings"
	"testing"

	"github.com/peterh/liner"

	"github.com/smolwc/smolwc/shell/internal/tty"
)

func TestPastedTextIsFreedOfCommandsToTheEditor(t *testing.T) {
	const begin, end, tab, line = "\x1b[200~", "\x1b[201~", "\u0089\t", "\u0082\r"
	for _, c := range []struct{ typed, read string }{
		{"a\tb\x03\x1b[A", "a\tb\x03\x1b[A"},
		{begin + "a\tb\r\nc\nd\re" + end + "\tf", begin + "a" + tab + "b" + line + "c" + line + "d" + line + "e\tf"},
		{begin + "a\nb\n" + end + "c\n", begin + "a" + line + "b\rc\n"},
		{begin + "a\n\n" + end, begin + "a" + line + "\r"},
		{"a\xffé\xc3\r", "a\ufddf\ufdefé\ufddc\ufde3\r"},
		{begin + "\xe2\x82\n\x80" + end, begin + "\ufdde\ufde2\ufdd8\ufde2" + line + "\ufdd8\ufde0"},
		{"\ufdd0\U0010ffff", "\ufdde\ufdef\ufddb\ufde7\ufdd9\ufde0\U0010ffff"},
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
	if editor := liner.NewLiner(); tty.InputOf(editor, os.Stdin, true) == nil {
		t.Error("liner no longer has the buffer that it read from")
	}
}

// The marks leave a line as it was typed, to the byte.
func TestALineHasTheBytesThatWereTyped(t *testing.T) {
	for _, typed := range []string{"a", "a\xffé\xc3", "\ufdd0\ufde0", "\xe2\x82", "\x80\x80\U0010ffff", "\ufffd"} {
		if got, more := tty.Unmark(strings.TrimSuffix(tty.Pasted(typed+"\r"), "\r")); got != typed || more {
			t.Errorf("%q is read as %q, %v", typed, got, more)
		}
	}
	if got, more := tty.Unmark("a\u0089b\u0082"); got != "ab" || !more {
		t.Errorf("got %q, %v", got, more)
	}
}
