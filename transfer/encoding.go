package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Encodings are the names that [Spec.Encoding] takes.
var Encodings = []string{"utf-8", "utf-16le", "utf-16be", "latin-1", "windows-1252"}

// decoded reads text of an encoding as UTF-8.
func decoded(in *bufio.Reader, encoding string) *bufio.Reader {
	r := &runeReader{in: in}
	switch encoding {
	case "utf-16le", "utf-16be":
		r.next = (&units{in: in, big: encoding == "utf-16be"}).rune
	case "latin-1":
		r.next = ofBytes(in, "")
	case "windows-1252":
		r.next = ofBytes(in, windows1252)
	default:
		return in
	}
	return bufio.NewReaderSize(r, 1<<16)
}

func checkEncoding(name string) error {
	if name != "" && !slices.Contains(Encodings, name) {
		return specErrorf("encoding", "there is no encoding %s; the encodings are utf-8, utf-16le, utf-16be, latin-1 and windows-1252", quote(name))
	}
	return nil
}

// A runeReader reads characters as UTF-8.
type runeReader struct {
	in     *bufio.Reader
	next   func() (rune, error)
	text   [utf8.UTFMax]byte
	behind []byte // of text: what the last Read had no room for
}

func (r *runeReader) Read(p []byte) (n int, err error) {
	n = copy(p, r.behind)
	r.behind = r.behind[n:]
	for n < len(p) {
		if n > 0 && r.in.Buffered() < 4 { // it may wait
			return n, nil
		}
		c, err := r.next()
		if err != nil {
			return n, err
		}
		r.behind = utf8.AppendRune(r.text[:0], c)
		fits := copy(p[n:], r.behind)
		r.behind = r.behind[fits:]
		n += fits
	}
	return n, nil
}

// units are those of UTF-16, of two bytes each.
type units struct {
	in    *bufio.Reader
	big   bool
	bytes int64 // read so far
}

func (u *units) rune() (rune, error) {
	first, err := u.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	second, err := u.unit()
	r := utf16.DecodeRune(first, second)
	if errors.Is(err, io.EOF) || err == nil && r == utf8.RuneError {
		err = fmt.Errorf("the UTF-16 text has half of a surrogate pair before byte %d", u.bytes+1)
	}
	return r, err
}

func (u *units) unit() (rune, error) {
	var two [2]byte
	n, err := io.ReadFull(u.in, two[:])
	u.bytes += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the UTF-16 text has an odd number of bytes")
	}
	if u.big {
		return rune(two[0])<<8 | rune(two[1]), err
	}
	return rune(two[1])<<8 | rune(two[0]), err
}

// windows1252 are the characters that Windows has in place of the control characters of
// Latin-1.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

// ofBytes reads a character from each byte. upper are those from 0x80 on; others are those of Latin-1.
func ofBytes(in *bufio.Reader, upper string) func() (rune, error) {
	runes := []rune(upper)
	return func() (rune, error) {
		c, err := in.ReadByte()
		if i := int(c) - 0x80; i >= 0 && i < len(runes) {
			return runes[i], err
		}
		return rune(c), err
	}
}
