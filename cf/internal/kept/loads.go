package kept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// A Load is the kept files of a load.
type Load struct {
	Bytes int64
	path  string
	at    uint64 // the sequence number from which on the log must be there
}

// undated is the sequence number of the kept files of a load that has no place in the log yet.
const undated = math.MaxUint64

// Loads are the loads that are kept for standbys, in the order of the log.
func (k *Kept) Loads() (all []Load, err error) {
	if k.dir == "" {
		return nil, nil
	}
	dir := filepath.Join(k.dir, loadsDir)
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	for _, e := range names { // they are sorted
		text, _, _ := strings.Cut(e.Name(), "-")
		at, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			continue
		}
		l := Load{path: filepath.Join(dir, e.Name()), at: at}
		files, _ := os.ReadDir(l.path)
		for _, file := range files {
			if info, err := file.Info(); err == nil { // otherwise it is gone
				l.Bytes += info.Size()
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// LoadBytes is the size of all loads.
func (k *Kept) LoadBytes() (sum int64) {
	if k.Ships() == "" {
		return 0
	}
	loads, _ := k.Loads()
	for _, l := range loads {
		sum += l.Bytes
	}
	return sum
}

// TrimLoads removes the files of loads before the first change of the logs, if they have one.
func (k *Kept) TrimLoads(next func() (first uint64, ok bool, err error)) error {
	loads, err := k.Loads()
	if err != nil || len(loads) == 0 {
		return err
	}
	first, ok, err := next()
	if err != nil || !ok {
		return err
	}
	for _, l := range loads {
		if l.at >= first {
			break
		}
		if err := os.RemoveAll(l.path); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

// removeUndated removes what a crash has left of loads that did not come to the log.
func (k *Kept) removeUndated() error {
	loads, err := k.Loads()
	for _, l := range loads {
		if l.at == undated {
			err = errors.Join(err, os.RemoveAll(l.path))
		}
	}
	return err
}

// KeepLoad keeps the files of a load for standbys, as long as the log after a sequence number,
// or until DateLoad says when it comes if that is 0. Files are copied where the file system
// has no links, so the caller holds no lock that writes need.
func (k *Kept) KeepLoad(id string, at uint64, files []string) error {
	if k.Ships() == "" {
		return nil
	}
	if at == 0 {
		at = undated
	}
	dir, err := k.LoadDir(id) // of an earlier try
	if err != nil {
		dir = k.loadDir(id, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unavailable(err)
	}
	for _, path := range files {
		if err := linkOrCopy(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

func (k *Kept) loadDir(id string, at uint64) string {
	return filepath.Join(k.dir, loadsDir, fmt.Sprintf("%020d-%s", at, id))
}

// DateLoad notes for a load that is kept undated that it comes now.
func (k *Kept) DateLoad(id string, at uint64) error {
	dir, err := k.LoadDir(id)
	if err != nil {
		return nil // no standby will ask for it
	}
	if to := k.loadDir(id, at); to != dir {
		err = os.Rename(dir, to)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// ForgetLoad removes the kept files of a load that did not become visible.
func (k *Kept) ForgetLoad(id string) {
	if dir, err := k.LoadDir(id); err == nil {
		_ = os.RemoveAll(dir) // otherwise TrimLoads removes it
	}
}

// LoadDir is the directory of a load.
func (k *Kept) LoadDir(id string) (string, error) {
	loads, err := k.Loads()
	if err != nil {
		return "", err
	}
	for _, l := range loads {
		if _, of, _ := strings.Cut(filepath.Base(l.path), "-"); of == id {
			return l.path, nil
		}
	}
	return "", fmt.Errorf("the files of load %q are not kept: %w", id, cf.ErrTrimmed)
}

// linkOrCopy links a file, and copies it where it cannot be linked. The new file is there
// as a whole or not at all.
func linkOrCopy(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return CopyFile(context.Background(), from, to)
}

// CopyFile copies a file to the disk, whole or not at all.
func CopyFile(ctx context.Context, from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	w, err := os.OpenFile(to+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(w, r, 64<<20)
		}
	}
	if err == io.EOF {
		err = nil
	}
	if err = errors.Join(err, w.Sync(), w.Close()); err == nil {
		err = os.Rename(to+".tmp", to)
	}
	if err != nil {
		_ = os.Remove(to + ".tmp") // it may not be there
	}
	return err
}
