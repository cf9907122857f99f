package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/query/plumbing"
)

// Each token is a separate note, named by its ID, so that processes can make tokens
// concurrently. The note tokensNote is made before the first token and stays: from then
// on each client needs a token.
const (
	tokensNote = "tokens"
	tokenNote  = "token/"
)

// noteTime bounds one access to the notes.
const noteTime = 10 * time.Second

type tokenNotes struct{ db plumbing.Notes }

// TokensIn returns the tokens in a database's notes, where a database without a
// directory keeps them. The database must stay open while they are used.
func TokensIn(db plumbing.Notes) *Tokens { return &Tokens{place: tokenNotes{db}} }

func (n tokenNotes) read() (*tokenList, error) {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	notes, err := n.db.Notes(ctx, "token")
	if err != nil {
		return nil, err
	}
	l := new(tokenList)
	head, exists := notes[tokensNote]
	if !exists {
		return nil, fs.ErrNotExist
	}
	if err := decodeStrictly(head, l); err != nil {
		return nil, fmt.Errorf("the note %s is damaged: %w", tokensNote, err)
	}
	if l.Version != tokenVersion {
		return nil, fmt.Errorf("the note %s has version %d; this smolwc reads %d", tokensNote, l.Version, tokenVersion)
	}
	for name, b := range notes {
		if !strings.HasPrefix(name, tokenNote) {
			continue
		}
		t := new(Token)
		if err := decodeStrictly(b, t); err != nil {
			return nil, fmt.Errorf("the note %s is damaged: %w", name, err)
		}
		l.Tokens = append(l.Tokens, t)
	}
	slices.SortFunc(l.Tokens, func(a, b *Token) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return l, nil
}

// renew always reads, since a list of notes carries no stamp.
func (n tokenNotes) renew(stamp) (*tokenList, stamp, error) {
	l, err := n.read()
	if err != nil {
		return nil, stamp{}, err
	}
	return l, stamp{size: 1}, nil
}

// change writes the tokens that f adds, and removes those that f deletes.
func (n tokenNotes) change(f func(*tokenList) error) error {
	before, err := n.read()
	if errors.Is(err, fs.ErrNotExist) {
		before, err = new(tokenList), n.set(tokensNote, tokenList{Version: tokenVersion})
	}
	if err != nil {
		return err
	}
	after := &tokenList{Tokens: slices.Clone(before.Tokens)}
	if err := f(after); err != nil {
		return err
	}
	for _, t := range after.Tokens {
		if slices.Contains(before.Tokens, t) {
			continue
		}
		if err := n.set(tokenNote+t.ID, t); err != nil {
			return err
		}
	}
	for _, t := range before.Tokens {
		if slices.Contains(after.Tokens, t) {
			continue
		}
		if err := n.set(tokenNote+t.ID, nil); err != nil {
			return err
		}
	}
	return nil
}

// set writes a note; a nil value removes it.
func (n tokenNotes) set(name string, value any) error {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	if value == nil {
		return n.db.SetNote(ctx, name, nil)
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return n.db.SetNote(ctx, name, b)
}
