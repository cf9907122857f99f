package excerpt_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/smolwc/smolwc/internal/excerpt"
)

func ExampleOf() {
	fmt.Println(excerpt.Of("plane#1"))
	fmt.Println(excerpt.Of(strings.Repeat("plane#1 ", 512)))
	// Output:
	// plane#1
	// plane#1 plane#1 plane#1 plane#1 plane#1 plane#1 plane#1 plane#1 plane#1 plane#1 … (4096 bytes)
}

// TestOf: text stays text, and other bytes are shortened too.
func TestOf(t *testing.T) {
	for _, c := range []string{"a", "é", "✈", "🛩", "\xff", "\x80"} {
		for n := range 100 {
			s := "x" + strings.Repeat(c, n)
			got := excerpt.Of(s)
			if got != s && (len(s) <= 80 || len(got) > 100 || !strings.HasSuffix(got, fmt.Sprintf("… (%d bytes)", len(s)))) {
				t.Errorf("the excerpt of %q is %q", s, got)
			}
			if len(s) > 80 && got == s || utf8.ValidString(s) && !utf8.ValidString(got) {
				t.Errorf("the excerpt of %q is %q", s, got)
			}
		}
	}
}

func ExampleWithoutQuoted() {
	fmt.Println(excerpt.WithoutQuoted(`apply t "row \"1\"": f:"q" holds i64, and 'é' is not a number`))
	fmt.Println(excerpt.WithoutQuoted("the client's deadline has passed"))
	// Output:
	// apply t "…": f:"…" holds i64, and "…" is not a number
	// the client's deadline has passed
}
