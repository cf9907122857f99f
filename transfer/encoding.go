package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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
	behind []byte // of text: beyond the room of the last Read
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

// units are UTF-16's, of two bytes each.
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

// windows1252 are Windows's characters in place of the control characters of Latin-1.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

// ofBytes reads a character from each byte. upper are the characters from 0x80 on; others
// follow Latin-1.
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

// decode reads other encodings as UTF-8. A byte order mark says UTF-8 or UTF-16. Text
// without a mark that looks like UTF-16 or UTF-32 is refused with a clear message;
// otherwise the errors would show strange field names.
func (s *source) decode(path, encoding string) error {
	head, err := s.text.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) {
		return readError(path, 0, err)
	}
	is := wideEncoding(head)
	for _, m := range marks {
		if !bytes.HasPrefix(head, []byte(m.bytes)) {
			continue
		}
		if is == "UTF-32" {
			break
		}
		if encoding != "" && encoding != m.encoding {
			return specErrorf("encoding", "%s: it begins with the mark of %s", path, m.encoding)
		}
		encoding, is = m.encoding, ""
		_, _ = s.text.Discard(len(m.bytes)) // they are in its buffer
		break
	}
	switch {
	case strings.HasPrefix(is, "UTF-16") && encoding == "":
		return fmt.Errorf("%s: the file is %s; encoding=%s reads it", path, is, strings.ToLower(is))
	case strings.HasPrefix(is, "UTF-32"):
		return fmt.Errorf("%s: the file is %s; convert it to UTF-8 first, as with iconv -f %s -t UTF-8", path, is, is)
	}
	s.text = decoded(s.text, encoding)
	return nil
}

// marks are the byte order marks of the encodings.
var marks = [...]struct{ bytes, encoding string }{{"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"}}

// wideEncoding is UTF-16 or UTF-32 if a text begins with its mark, or if zeros are where
// its characters of ASCII have them in the first line, as with UTF-16LE; "": it is neither.
func wideEncoding(head []byte) string {
	for _, mark := range []struct{ bytes, of string }{{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"}} {
		if bytes.HasPrefix(head, []byte(mark.bytes)) {
			return mark.of
		}
	}
	if end := lineEnd(head); end >= 0 {
		head = head[:end]
	}
	var zeros [4]int // by their place in a character of UTF-32
	for i, b := range head {
		if b == 0 {
			zeros[i%4]++
		}
	}
	all := len(head) / 4
	switch even, odd := zeros[0]+zeros[2], zeros[1]+zeros[3]; {
	case all > 0 && zeros[3] >= all && 2*zeros[2] > all && 2*zeros[0] < all:
		return "UTF-32LE"
	case all > 0 && zeros[0] >= all && 2*zeros[1] > all && 2*zeros[3] < all:
		return "UTF-32BE"
	case odd > 0 && 4*odd >= len(head) && 3*even <= odd:
		return "UTF-16LE"
	case even > 0 && 4*even >= len(head) && 3*odd <= even:
		return "UTF-16BE"
	}
	return ""
}
