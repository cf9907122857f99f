package lex

import "strings"

// LastStatement returns the statement at the end of the text; ok is false if the text
// ends within a comment.
func LastStatement(text string) (src Source, ok bool) {
	s := newScanState(Pos{1, 1})
	begin, command := 0, false
	for i := range len(text) {
		if !s.started && !command && s.mode == scanPlain && (text[i] == '.' || text[i] == '\\' && i+1 < len(text) && text[i+1] != '\n' && text[i+1] != '\r') && strings.TrimSpace(text[begin:i]) == "" {
			command = true
			begin = i
		}
		if command {
			if text[i] == '\n' {
				command, begin, s = false, i+1, newScanState(Pos{1, 1})
			}
			continue
		}
		if s.step(text[i]) {
			begin, s = i+1, newScanState(Pos{1, 1})
		}
	}
	return Source{Text: text[begin:], Pos: Pos{1, 1}, Session: command}, s.mode != scanComment && s.mode != scanDashes && s.mode != scanMistake
}

// A Partial is the unfinished word before the cursor.
type Partial struct {
	Word Token
	Off  int  // its offset in the text
	Open byte // the quote that is open at its end, or 0
}

// Text is the text of the word so far.
func (t *Partial) Text() string {
	if t == nil {
		return ""
	}
	return Join(t.Word.Parts)
}

// PartialTokens cuts a text that may end anywhere, even within a quote or a bracket. If
// the text ends in a word, that word is not among the tokens but in the Partial.
func PartialTokens(src Source, dashes func(at Pos, rest string) *Error) ([]Token, *Partial, error) {
	l := newLexer(src, dashes)
	l.partial = true
	toks, err := l.tokens()
	if err != nil {
		return nil, nil, err
	}
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
