package transfer

import (
	"bufio"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// Texts are read whole, however much room each read has: files of UTF-16 could not be read if a buffer had room for one to three bytes.
func TestEncodingsAreReadWhole(t *testing.T) {
	for _, encoding := range Encodings[1:] {
		r := rand.New(rand.NewPCG(1, 2))
		wide := strings.HasPrefix(encoding, "utf")
		for n := range 8 {
			text := []rune(strings.Repeat("é", n))
			for range 70_000 {
				if c := r.IntN(0x2000); wide && r.IntN(3) == 0 {
					text = append(text, rune(0x1f000+c))
				} else {
					text = append(text, rune(c%0x80))
				}
			}
			var in []byte
			for _, c := range text {
				switch {
				case encoding == "utf-16le":
					for _, u := range utf16.AppendRune(nil, c) {
						in = binary.LittleEndian.AppendUint16(in, u)
					}
				case wide:
					for _, u := range utf16.AppendRune(nil, c) {
						in = binary.BigEndian.AppendUint16(in, u)
					}
				default:
					in = append(in, byte(c))
				}
			}
			for _, size := range []int{16, 4096} {
				from := bufio.NewReaderSize(strings.NewReader(string(in)), size)
				to := decoded(from, encoding)
				if _, err := to.Peek(to.Size()); err != nil { // as sniffing does
					t.Errorf("%s, %d: %v", encoding, n, err)
				}
				if err := iotest.TestReader(to, []byte(string(text))); err != nil {
					t.Errorf("%s, %d: %.200v", encoding, n, err)
				}
			}
		}
	}
}
