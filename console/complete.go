package console

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/smolwc/smolwc/client/remote"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/shell"
	"github.com/smolwc/smolwc/sql"
)

const (
	// maxCompleted is the size of a statement, in bytes, whose words are completed.
	maxCompleted = 8 << 10
	// mostWords is how many words are proposed.
	mostWords = 50
)

// complete proposes the words with which a statement may go on, as the shell does. They
// replace the text from begin on, which counts in UTF-16, as scripts do.
func complete(v *visit) error {
	text := v.r.FormValue("q")
	if len(text) > maxCompleted {
		return invalid("the statement has %d bytes; words are completed in up to %d", len(text), maxCompleted)
	}
	if err := v.Refresh(v.r.Context()); err != nil {
		return err
	}
	session := shell.New(shell.Options{Remote: remote.Database{Client: v.Client}})
	begin, words := session.Complete(text)
	if err := session.Close(); err != nil {
		return err
	}
	answer := struct {
		Begin int        `json:"begin"`
		Words []proposed `json:"words"`
	}{Begin: len(utf16.Encode([]rune(text[:begin]))), Words: []proposed{}}
	for _, word := range words[:min(len(words), mostWords)] {
		answer.Words = append(answer.Words, proposed{word, ""})
	}
	if begin < len(text) && lex.IsQuery(text) && !lex.OpenText(text) && !strings.ContainsAny(text[max(0, begin-1):begin], "`.") {
		answer.Words = withFunctions(answer.Words, text[begin:])
	}
	v.header().Header().Set("Content-Type", "application/json")
	return json.NewEncoder(v.w).Encode(answer)
}

// A proposed word, and the form of the function that it calls.
type proposed struct {
	Word string `json:"word"`
	Form string `json:"form,omitempty"`
}

// withFunctions adds the functions of SQL whose names begin with the word under way.
func withFunctions(words []proposed, begun string) []proposed {
	for _, f := range sql.Functions() {
		name := strings.ToLower(f.Name)
		if !strings.HasPrefix(name, strings.ToLower(begun)) || len(words) >= mostWords {
			continue
		}
		words = slices.DeleteFunc(words, func(w proposed) bool { return strings.TrimSpace(w.Word) == name })
		form := f.Name + "(…)"
		if len(f.Signatures) > 0 {
			form = f.Signatures[0]
		}
		words = append(words, proposed{name + "(", form})
	}
	return words
}

// coloured are the words that the editor colours.
var coloured = sync.OnceValue(func() string {
	all := slices.Clone(lex.QueryKeywords)
	for _, want := range (ql.Env{}).Expect("", 0).Wants {
		all = append(all, want.Candidates...)
	}
	return strings.Join(all, " ")
})

// functionNames are the names of SQL's functions.
var functionNames = sync.OnceValue(func() string {
	var names []string
	for _, f := range sql.Functions() {
		names = append(names, strings.ToLower(f.Name))
	}
	return strings.Join(names, " ")
})
