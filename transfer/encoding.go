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
	var r io.Reader
	switch encoding {
	case "utf-16le", "utf-16be":
		r = &utf16Reader{in: in, big: encoding == "utf-16be"}
	case "latin-1":
		r = &byteReader{in: in}
	case "windows-1252":
		r = &byteReader{in: in, upper: windows1252}
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

// A utf16Reader reads UTF-16 as UTF-8.
type utf16Reader struct {
	in    *bufio.Reader
	big   bool
	bytes int64 // read so far
}

func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for n+utf8.UTFMax <= len(p) {
		r, err := u.rune()
		if err != nil {
			if n > 0 && errors.Is(err, io.EOF) {
				return n, nil
			}
			return n, err
		}
		n += utf8.EncodeRune(p[n:], r)
		if u.in.Buffered() < 4 && n > 0 {
			return n, nil
		}
	}
	return n, nil
}

func (u *utf16Reader) rune() (rune, error) {
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

func (u *utf16Reader) unit() (rune, error) {
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

// A byteReader reads text with a byte for each character as UTF-8.
type byteReader struct {
	in    *bufio.Reader
	upper string // the characters from 0x80 on; others are those of Latin-1
	runes []rune
}

// windows1252 are the characters that Windows has in place of the control characters of
// Latin-1.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

func (b *byteReader) Read(p []byte) (n int, err error) {
	if b.runes == nil {
		b.runes = []rune(b.upper)
	}
	for n+utf8.UTFMax <= len(p) {
		c, err := b.in.ReadByte()
		if err != nil {
			return n, err
		}
		r := rune(c)
		if i := int(c) - 0x80; i >= 0 && i < len(b.runes) {
			r = b.runes[i]
		}
		if n += utf8.EncodeRune(p[n:], r); b.in.Buffered() == 0 {
			return n, nil
		}
	}
	return n, nil
}
