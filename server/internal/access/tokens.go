package access

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/schema"
)

// A Token lets a client in. Only the hash of its secret is kept: the secret is
// 256 random bits, which cannot be guessed from the hash.
type Token struct {
	Name    string    `json:"name"`
	ID      string    `json:"id"`     // the part of the secret by which it is found
	Hash    string    `json:"sha256"` // of the secret as a whole, in hexadecimal
	Grants  []Grant   `json:"grants"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// A Grant is a right to tables: to one by its name in the database, or, with a *
// at the end, to all tables whose names begin with it. TABLE@VIEW is an authorized view
// of a table alone; the right to a table includes its views.
type Grant struct {
	Right  Right  `json:"right"`
	Tables string `json:"tables"`

	plain bool // of tables without a prefix in their names alone
}

// MarshalText implements encoding.TextMarshaler.
func (r Right) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Right) UnmarshalText(b []byte) error {
	for _, known := range []Right{Read, Write, Admin} {
		if string(b) == known.String() {
			*r = known
			return nil
		}
	}
	return fmt.Errorf("unknown right %q; the rights are read, write and admin", b)
}

// viewMark separates the names of a table and a view. It cannot occur in a table's name.
const viewMark = "@"

func (g Grant) covers(name string, exact bool) bool {
	prefix, all := strings.CutSuffix(g.Tables, "*")
	if all {
		return strings.HasPrefix(name, prefix)
	}
	return exact && name == g.Tables
}

// allows reports whether a grant gives a right to a resource. The right to a view does
// not include the right to change the view: its holder could widen it.
func (g Grant) allows(right Right, r Resource) bool {
	if g.Right < right || g.plain && strings.Contains(r.Name, "/") {
		return false
	}
	return g.covers(r.Name, r.Exact) || r.View != "" && right < Admin && g.covers(r.Name+viewMark+r.View, r.Exact)
}

// Check validates a grant.
func (g Grant) Check() error {
	name := strings.TrimSuffix(g.Tables, "*")
	if g.Tables == "" {
		return errors.New("the name of a table is empty; * is all tables")
	}
	if name == "" || name != g.Tables && strings.HasSuffix(name, "/") {
		return nil
	}
	if table, view, ok := strings.Cut(name, viewMark); ok {
		return g.checkView(table, view)
	}
	return schema.CheckTableName(name)
}

func (g Grant) checkView(table, view string) error {
	switch {
	case g.Right == Admin:
		return fmt.Errorf("a view is changed with the right to its table: %q", table)
	case view == "" && !strings.HasSuffix(g.Tables, "*"):
		return errors.New("the name of the view is empty; TABLE@* is all views of a table")
	case strings.Contains(view, "/"):
		return fmt.Errorf("the name of a view has no /; got %q", view)
	case view != "":
		if err := schema.CheckTableName(view); err != nil {
			return fmt.Errorf("view: %w", err)
		}
	}
	return schema.CheckTableName(table)
}

func (t *Token) allows(right Right, r Resource) bool {
	return slices.ContainsFunc(t.Grants, func(g Grant) bool { return g.allows(right, r) })
}

const (
	secretPrefix = "smolwc_" // so that scanners for secrets find it
	idBytes      = 5
	secretBytes  = 32
)

var secretEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newToken makes a token and its secret: smolwc_ID_SECRET.
func newToken(name string, grants []Grant) (*Token, string) {
	var b [idBytes + secretBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	id := secretEncoding.EncodeToString(b[:idBytes])
	secret := secretPrefix + id + "_" + secretEncoding.EncodeToString(b[idBytes:])
	return &Token{Name: name, ID: id, Hash: hashOf(secret), Grants: grants}, secret
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// tokenList is all tokens of a database.
type tokenList struct {
	Version int      `json:"version"`
	Tokens  []*Token `json:"tokens"`
}

const tokenVersion = 1

// Tokens are the tokens of a database: in a file beside its data, or, for a database
// without a directory, in notes of its catalog. They are safe for concurrent use, also
// by several processes.
type Tokens struct {
	place place

	mu      sync.Mutex
	checked time.Time // when the place was last looked at
	stamp   stamp     // of the list when it was read; zero: never there
	byID    map[string]*Token
	err     error
}

// A place keeps the tokens of a database.
type place interface {
	// read reads the list; the error matches fs.ErrNotExist before the first token.
	read() (*tokenList, error)
	// renew reads the list unless it is as it was at a stamp; then it is nil.
	renew(stamp) (*tokenList, stamp, error)
	// change changes the list durably.
	change(func(*tokenList) error) error
}

// A stamp tells whether a list was replaced.
type stamp struct {
	modified time.Time
	size     int64
	inode    uint64
}

var errNoTokens = errors.New("there are no tokens; OpenTokens gives them")

// List is all tokens, by their names. Before the first token is made there is no
// file: then exists is false.
func (t *Tokens) List() (list []*Token, exists bool, err error) {
	l, err := t.read()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // opening the database reports this error
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	return l.Tokens, true, nil
}

func (t *Tokens) read() (*tokenList, error) {
	if t == nil {
		return nil, errNoTokens
	}
	return t.place.read()
}

// Create makes a token and returns its secret, which cannot be recovered later. A
// zero time means that the token does not expire.
func (t *Tokens) Create(name string, grants []Grant, expires time.Time) (secret string, err error) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", fmt.Errorf("a token's name has at least one character and no spaces; got %q", name)
	}
	if len(grants) == 0 {
		return "", errors.New("a token without rights is of no use")
	}
	for _, g := range grants {
		if err := g.Check(); err != nil {
			return "", fmt.Errorf("%s of %q: %w", g.Right, g.Tables, err)
		}
	}
	err = t.change(func(l *tokenList) error {
		if slices.ContainsFunc(l.Tokens, func(o *Token) bool { return o.Name == name }) {
			return fmt.Errorf("there is a token %q already", name)
		}
		var made *Token
		made, secret = newToken(name, grants)
		made.Created, made.Expires = time.Now().UTC().Truncate(time.Second), expires.UTC()
		l.Tokens = append(l.Tokens, made)
		slices.SortFunc(l.Tokens, func(a, b *Token) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	return secret, err
}

// Revoke removes a token. A server with these Tokens refuses it at once, another server
// of the database within a second; a stream under way ends with its next message.
func (t *Tokens) Revoke(name string) error {
	if _, exists, err := t.List(); err == nil && !exists {
		return fmt.Errorf("there is no token %q", name)
	}
	return t.change(func(l *tokenList) error {
		if !slices.ContainsFunc(l.Tokens, func(o *Token) bool { return o.Name == name }) {
			var known []string
			for _, o := range l.Tokens {
				known = append(known, o.Name)
			}
			return fmt.Errorf("there is no token %q%s", name, schema.DidYouMean(name, known))
		}
		l.Tokens = slices.DeleteFunc(l.Tokens, func(o *Token) bool { return o.Name == name })
		return nil
	})
}

func (t *Tokens) change(f func(*tokenList) error) error {
	if t == nil {
		return errNoTokens
	}
	defer func() { // a server with these Tokens sees the change at once
		t.mu.Lock()
		t.checked = time.Time{}
		t.mu.Unlock()
	}()
	return t.place.change(f)
}

// freshFor is how long the list is used before it is checked for changes by other
// processes.
const freshFor = time.Second

// These errors say why a client is refused, and reveal nothing else.
var (
	errNoToken      = errors.New("this server requires a token: authorization: Bearer smolwc_…")
	errUnknownToken = errors.New("the token is not known here, or was revoked")
	errExpired      = errors.New("the token has expired")
)

// required reports whether clients need tokens: since the first token was made,
// even when all have been revoked.
func (t *Tokens) required() (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	return t.stamp != stamp{}, t.err
}

func (t *Tokens) find(secret string) (*Token, error) {
	t.mu.Lock()
	t.refresh()
	id, _, _ := strings.Cut(strings.TrimPrefix(secret, secretPrefix), "_")
	token, err := t.byID[id], t.err
	t.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case token == nil || subtle.ConstantTimeCompare([]byte(token.Hash), []byte(hashOf(secret))) != 1:
		return nil, errUnknownToken
	}
	return token, token.expired()
}

// Admit says why clients with a secret are not let in; "" is no token. Nil tokens let all
// clients in.
func (t *Tokens) Admit(secret string) error {
	if t == nil {
		return nil
	}
	switch needed, err := t.required(); {
	case err != nil:
		return err
	case !needed:
		return nil
	case secret == "":
		return errNoToken
	}
	_, err := t.find(secret)
	return err
}

// check finds out whether a token that was good still is.
func (t *Tokens) check(token *Token) error {
	t.mu.Lock()
	t.refresh()
	known, err := t.byID[token.ID], t.err
	t.mu.Unlock()
	switch {
	case err != nil:
		return err
	case known == nil || known.Hash != token.Hash:
		return errUnknownToken
	}
	return known.expired()
}

func (t *Token) expired() error {
	if !t.Expires.IsZero() && !time.Now().Before(t.Expires) {
		return errExpired
	}
	return nil
}

// refresh reads the list if it was replaced; t.mu is held. When the list cannot be read,
// or was removed, no client is let in.
func (t *Tokens) refresh() {
	now := time.Now()
	if now.Sub(t.checked) < freshFor {
		return
	}
	last := t.stamp
	if t.err != nil || t.byID == nil {
		last = stamp{}
	}
	l, at, err := t.place.renew(last)
	t.checked = time.Now()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.stamp, t.byID, t.err = cmp.Or(at, t.stamp), nil, nil
	case err != nil:
		t.stamp, t.byID, t.err = cmp.Or(at, t.stamp), nil, err
	case l != nil:
		t.stamp, t.err, t.byID = at, nil, map[string]*Token{}
		for _, token := range l.Tokens {
			t.byID[token.ID] = token
		}
	}
}

// Within is the token for a database whose tables have a prefix before their names in this
// one: the grants to them, without the prefix. Only a grant to all tables is one to those that
// have a prefix there. A nil token stays nil.
func (t *Token) Within(prefix string) *Token {
	if t == nil {
		return nil
	}
	within := *t
	within.Grants = nil
	for _, g := range t.Grants {
		names, all := strings.CutSuffix(g.Tables, "*")
		g.plain = g.Tables != "*"
		if rest, ok := strings.CutPrefix(g.Tables, prefix); ok {
			g.Tables = rest
		} else if all && strings.HasPrefix(prefix, names) {
			g.Tables = "*"
		} else {
			continue
		}
		within.Grants = append(within.Grants, g)
	}
	return &within
}
