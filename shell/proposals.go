package shell

import (
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/ql/lex"
)

// A proposal is a text to write as a word. open says that more of the word may follow.
type proposal struct {
	text string
	open bool
}

// quoted writes proposals as words: with the function, or bare if all of them can be and
// no quote is open, so that all have the same common prefix.
func quoted(proposals []proposal, quote byte, write func(string) string) []string {
	bare := quote == 0
	for _, p := range proposals {
		bare = bare && lex.QuoteKey(p.text) == p.text
	}
	var words []string
	for _, p := range proposals {
		word := p.text
		if !bare {
			word = write(p.text)
		}
		if p.open && !bare {
			word = word[:len(word)-1]
		}
		words = append(words, word)
	}
	return words
}

func matching(prefix string, candidates []string) []string {
	var found []string
	for _, c := range candidates {
		if strings.HasPrefix(c, prefix) {
			found = append(found, c)
		}
	}
	return found
}

// spaced appends the space that must follow each word. An option's value follows its =
// directly.
func spaced(words []string) []string {
	with := make([]string, len(words))
	for i, w := range words {
		with[i] = w + " "
		if strings.HasSuffix(w, "=") {
			with[i] = w
		}
	}
	return with
}

// withMore appends a line to a list of words that says that there are more. It begins as
// all words do, so that the editor still inserts their common beginning.
func withMore(words []string) []string {
	if len(words) < 2 {
		return words
	}
	common, last := words[0], words[len(words)-1] // they are sorted
	for !strings.HasPrefix(last, common) {
		_, size := utf8.DecodeLastRuneInString(common)
		common = common[:len(common)-size]
	}
	return append(words, common+"… (more)")
}
