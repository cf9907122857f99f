// Package excerpt shortens the text of messages: row keys, values and words from
// outside may be long.
package excerpt

import (
	"fmt"
	"regexp"
	"unicode/utf8"
)

const most = 80 // bytes

// Of is s itself, or the beginning of a long s and its length. It does not cut
// through a character.
func Of(s string) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + fmt.Sprintf("… (%d bytes)", len(s))
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'|` + "`[^`]*`?")

// WithoutQuoted is a message in which "…" stands for all that is quoted: row keys, values
// and names from outside.
func WithoutQuoted(message string) string { return quoted.ReplaceAllLiteralString(message, `"…"`) }
