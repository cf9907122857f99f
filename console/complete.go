package console

import (
	"encoding/json"
	"unicode/utf16"

	"github.com/smolwc/smolwc/client/remote"
	"github.com/smolwc/smolwc/shell"
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
		Begin int      `json:"begin"`
		Words []string `json:"words"`
		More  bool     `json:"more"`
	}{len(utf16.Encode([]rune(text[:min(begin, len(text))]))), words, len(words) > mostWords}
	if answer.More {
		answer.Words = words[:mostWords]
	} else if words == nil {
		answer.Words = []string{}
	}
	v.header().Header().Set("Content-Type", "application/json")
	return json.NewEncoder(v.w).Encode(answer)
}
