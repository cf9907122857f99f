package lex

import "strings"

// LastStatement returns the statement at the end of the text; ok is false if the text
// ends within a comment.
func LastStatement(text string) (src Source, ok bool) {
	s := newScanState(Pos{1, 1})
	begin := 0
	for i := 0; i < len(text); i++ {
		if !s.started && s.mode == scanPlain && beginsCommand(text[i], ahead(text[i+1:])) && strings.TrimSpace(text[begin:i]) == "" {
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return Source{Text: text[i:], Pos: Pos{1, 1}, Session: true}, true
			}
			i, begin = i+n, i+n+1
		} else if s.step(text[i], ahead(text[i+1:])) {
			begin, s = i+1, newScanState(Pos{1, 1})
		}
	}
	return Source{Text: text[begin:], Pos: Pos{1, 1}}, s.mode != scanComment
}

// A Partial is the unfinished word before the cursor.
type Partial struct {
	Word Token
	Off  int  // its offset in the text
	Open byte // the quote that is open at its end, or 0
}

// Text is the text of the word so far.
func (t *Partial) Text() string {
	return Join(t.Word.Parts)
}

// PartialTokens cuts a text that may end anywhere, even within a quote or a bracket. If
// the text ends in a word, that word is not among the tokens but in the Partial.
func PartialTokens(src Source, dashes func(at Pos, rest string) *Error) (_ []Token, _ *Partial, err error) {
	defer Recover(&err)
	l := newLexer(src, dashes)
	l.partial = true
	toks := l.tokens()
	for len(toks) > 1 && toks[0].Kind == End {
		toks = toks[1:]
	}
	if n := len(toks) - 2; n >= 0 && toks[n].Kind == Word && l.last == len(src.Text) {
		word := toks[n]
		end := toks[n+1]
		end.Glued = word.Glued
		tail := &Partial{Word: word, Off: len(src.Text) - len(word.Text), Open: l.openQuote}
		return append(toks[:n:n], end), tail, nil
	}
	return toks, nil, nil
}
