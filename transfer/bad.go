package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A badFile keeps the text of bad lines. It gets its name once the import ends well.
type badFile struct {
	path string
	file *os.File // nil: no line yet
	out  *bufio.Writer
}

// newBadFile refuses a file that is there.
func newBadFile(path string) (*badFile, error) {
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return nil, specErrorf("bad", "%s exists, and is left alone; name a new file", path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, specErrorf("bad", "%v", fileError(path, err))
	}
	return &badFile{path: path}, nil
}

// add writes the text of a bad record, after the header before the first one.
func (b *badFile) add(header, text []byte) error {
	if b.file == nil {
		f, err := os.CreateTemp(filepath.Dir(b.path), "."+filepath.Base(b.path)+".tmp-*")
		if err != nil {
			return fileError(b.path, err)
		}
		b.file, b.out = f, bufio.NewWriter(f)
		text = append(header[:len(header):len(header)], text...)
	}
	if _, err := b.out.Write(text); err != nil {
		return fileError(b.path, err)
	}
	if n := len(text); n > 0 && text[n-1] != '\n' && text[n-1] != '\r' {
		return b.out.WriteByte('\n')
	}
	return nil
}

// end gives the file its name if keep is set, and removes it otherwise.
func (b *badFile) end(keep bool) error {
	if b == nil || b.file == nil {
		return nil
	}
	f := b.file
	b.file = nil
	var err error
	if keep {
		err = errors.Join(b.out.Flush(), f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); keep && err == nil {
		err = os.Link(f.Name(), b.path) // unlike a rename it replaces nothing
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = os.Rename(f.Name(), b.path)
		}
	}
	_ = os.Remove(f.Name()) // it is gone after a rename
	if err != nil {
		return fmt.Errorf("the bad lines are not kept in %s: %w", b.path, err)
	}
	return nil
}
