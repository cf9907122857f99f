package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/internal/osfile"
)

// tokenFile is in the database's directory. The server's own process and others may
// change it at any time.
const tokenFile = "tokens.json"

// tokenLock is a file that is locked while the file of tokens is replaced. The
// database's directory is locked by the process that writes it.
const tokenLock = "tokens.lock"

// A tokenDir is the directory of a database, with a file of tokens.
type tokenDir string

// OpenTokens are the tokens of the database in a directory.
func OpenTokens(dir string) *Tokens { return &Tokens{place: tokenDir(dir)} }

func (d tokenDir) path() string { return filepath.Join(string(d), tokenFile) }

func (d tokenDir) read() (*tokenList, error) {
	b, err := os.ReadFile(d.path())
	if err != nil {
		return nil, err
	}
	l := new(tokenList)
	if err := decodeStrictly(b, l); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", d.path(), err)
	}
	if l.Version != tokenVersion {
		return nil, fmt.Errorf("%s has version %d; this smolwc reads %d", d.path(), l.Version, tokenVersion)
	}
	return l, nil
}

// decodeStrictly refuses unknown fields, because one may be a restriction.
func decodeStrictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// renew returns a stamp even if the file cannot be decoded: there were tokens.
func (d tokenDir) renew(last stamp) (*tokenList, stamp, error) {
	info, err := os.Stat(d.path())
	if err != nil {
		return nil, stamp{}, err
	}
	at := stamp{modified: info.ModTime(), size: info.Size()}
	_, at.inode = osfile.ID(info)
	if at == last {
		return nil, at, nil
	}
	l, err := d.read()
	return l, at, err
}

// change rewrites the file, one process at a time.
func (d tokenDir) change(f func(*tokenList) error) error {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	dir, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	lock, err := os.OpenFile(filepath.Join(string(d), tokenLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which also unlocks it
	if err := osfile.Lock(lock); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	l, err := d.read()
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
	return replaceFile(d.path(), append(b, '\n'), dir)
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
