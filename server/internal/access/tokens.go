package access

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/schema"
)

// TokenFile is the name of the file of tokens in a database's directory. The
// server's own process and others may change it at any time.
const TokenFile = "tokens.json"

// tokenLock is a file that is locked while the file of tokens is replaced. The
// database's directory is locked by the process that writes it.
const tokenLock = "tokens.lock"

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
// at the end, to all tables whose names begin with it.
type Grant struct {
	Right  Right  `json:"right"`
	Tables string `json:"tables"`
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

// covers reports whether the grant is for all of a resource.
func (g Grant) covers(r Resource) bool {
	prefix, all := strings.CutSuffix(g.Tables, "*")
	if all {
		return strings.HasPrefix(r.Name, prefix)
	}
	return r.Exact && r.Name == g.Tables
}

// Check finds what is wrong with a grant.
func (g Grant) Check() error {
	name := strings.TrimSuffix(g.Tables, "*")
	if g.Tables == "" {
		return errors.New("the name of a table is empty; * is all tables")
	}
	if name == "" || name != g.Tables && strings.HasSuffix(name, "/") {
		return nil
	}
	return schema.CheckTableName(name)
}

// allows reports whether the token has the right to all of a resource.
func (t *Token) allows(right Right, r Resource) bool {
	return slices.ContainsFunc(t.Grants, func(g Grant) bool { return g.Right >= right && g.covers(r) })
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

// tokenList is the file of tokens.
type tokenList struct {
	Version int      `json:"version"`
	Tokens  []*Token `json:"tokens"`
}

const tokenVersion = 1

// Tokens are the tokens of a database, in a file beside its data. They are safe
// for concurrent use, also by several processes.
type Tokens struct {
	dir string

	mu      sync.Mutex
	checked time.Time // when the file was last looked at
	stamp   stamp     // of the file when it was read; zero: never there
	byID    map[string]*Token
	err     error
}

// A stamp tells whether a file was replaced.
type stamp struct {
	modified time.Time
	size     int64
	inode    uint64
}

// OpenTokens are the tokens of the database in a directory.
func OpenTokens(dir string) *Tokens { return &Tokens{dir: dir} }

var errNoTokens = errors.New("there are no tokens; OpenTokens gives them")

func (t *Tokens) path() string { return filepath.Join(t.dir, TokenFile) }

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
	b, err := os.ReadFile(t.path())
	if err != nil {
		return nil, err
	}
	l := new(tokenList)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // an unknown field may be a restriction
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", t.path(), err)
	}
	if l.Version != tokenVersion {
		return nil, fmt.Errorf("%s has version %d; this smolwc reads %d", t.path(), l.Version, tokenVersion)
	}
	return l, nil
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

// Revoke removes a token. A server of the database refuses it within a second; a
// stream under way ends with its next message.
func (t *Tokens) Revoke(name string) error {
	if _, exists, err := t.List(); err == nil && !exists {
		return fmt.Errorf("there is no token %q", name)
	}
	return t.change(func(l *tokenList) error {
		i := slices.IndexFunc(l.Tokens, func(o *Token) bool { return o.Name == name })
		if i < 0 {
			var known []string
			for _, o := range l.Tokens {
				known = append(known, o.Name)
			}
			return fmt.Errorf("there is no token %q%s", name, schema.DidYouMean(name, known))
		}
		l.Tokens = slices.Delete(l.Tokens, i, i+1)
		return nil
	})
}

// change rewrites the file, one process at a time.
func (t *Tokens) change(f func(*tokenList) error) error {
	if t == nil {
		return errNoTokens
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	dir, err := os.Open(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	lock, err := os.OpenFile(filepath.Join(t.dir, tokenLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which also unlocks it
	if err := osfile.Lock(lock); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	l, err := t.read()
	if errors.Is(err, fs.ErrNotExist) {
		l, err = &tokenList{Version: tokenVersion, Tokens: []*Token{}}, nil
	}
	if err != nil {
		return err
	}
	if err := f(l); err != nil {
		return err
	}
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(t.path(), append(b, '\n'), dir)
}

// replaceFile writes a file atomically. Only its owner may read it.
func replaceFile(path string, b []byte, dir *os.File) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(b)
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return osfile.SyncDir(dir)
}

// freshFor is how long the content of the file is used before it is checked
// again.
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

// find is the valid token of a secret.
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

// refresh reads the file if it was replaced; t.mu is held. When the file cannot
// be read, or has gone, no client is let in.
func (t *Tokens) refresh() {
	now := time.Now()
	if now.Sub(t.checked) < freshFor {
		return
	}
	t.checked = now
	info, err := os.Stat(t.path())
	if errors.Is(err, fs.ErrNotExist) {
		t.byID, t.err = nil, nil
		return
	}
	if err != nil {
		t.byID, t.err = nil, err
		return
	}
	at := stamp{modified: info.ModTime(), size: info.Size()}
	_, at.inode = osfile.ID(info)
	if at == t.stamp && t.err == nil && t.byID != nil {
		return
	}
	l, err := t.read()
	t.stamp, t.err, t.byID = at, err, map[string]*Token{}
	if err != nil {
		return
	}
	for _, token := range l.Tokens {
		t.byID[token.ID] = token
	}
}
