package osfile

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Open is os.OpenFile that stops waiting when the context ends: the opening of a named
// pipe waits for the pipe's other end.
func Open(ctx context.Context, path string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return os.OpenFile(path, flag, perm)
	}
	f, err := await(ctx, func() (*os.File, error) { return os.OpenFile(path, flag, perm) }, func(f *os.File) { _ = f.Close() })
	if err != nil && ctx.Err() != nil {
		err = &fs.PathError{Op: "open", Path: path, Err: ctx.Err()}
	}
	return f, err
}

// ReadFile is os.ReadFile that stops waiting when the context ends.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	f, err := Open(ctx, path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(Reader(ctx, f))
	if errors.Is(err, context.Canceled) {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return text, err
}

// KeyPair is tls.LoadX509KeyPair that stops waiting when the context ends.
func KeyPair(ctx context.Context, certFile, keyFile string) (tls.Certificate, error) {
	cert, err := ReadFile(ctx, certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ReadFile(ctx, keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// Reader returns a reader of r that stops waiting for input when the context ends. It is
// unusable after that: a read of r may go on. A regular file is returned as it is.
func Reader(ctx context.Context, r io.Reader) io.Reader {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return r
		}
	}
	return &waitingReader{ctx, r}
}

type waitingReader struct {
	ctx context.Context
	r   io.Reader
}

func (w *waitingReader) Read(p []byte) (int, error) {
	type part struct {
		text []byte
		err  error
	}
	buf := make([]byte, len(p)) // not p: the read may go on after this call
	got, err := await(w.ctx, func() (part, error) {
		n, err := w.r.Read(buf)
		return part{buf[:n], err}, nil
	}, func(part) {})
	if err != nil {
		return 0, err
	}
	return copy(p, got.text), got.err
}

// await returns f's results, or the context's error if it ends first; drop then gets what
// f returns without an error.
func await[T any](ctx context.Context, f func() (T, error), drop func(T)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome)
	go func() {
		v, err := f()
		select {
		case done <- outcome{v, err}:
		case <-ctx.Done():
			if err == nil {
				drop(v)
			}
		}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Home returns a path in which ~ or ~/ at the beginning is the home directory, as in a
// shell: in a flag such as --db=~/data and in a file no shell replaces it. A path that
// exists as it is written is returned as it is. ~NAME is refused.
func Home(path string) (string, error) {
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, "~"+string(filepath.Separator)) {
		name, _, _ := strings.Cut(path, "/")
		return "", errors.New(path + ": only ~ and ~/ stand for a home directory; write the directory of " + name + " in full, or ./" + path + " for this name")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New(path + ": there is no home directory for ~, since $HOME is not set; write it in full")
	}
	return filepath.Join(home, path[1:]), nil
}
