// Package kept manages the files that a store keeps for its standbys: how much of the
// logs, which positions are pinned, and the files of loads.
package kept

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/osfile"
)

// A Kept manages a directory of kept files. It is safe for concurrent use.
type Kept struct {
	dir  string // "" of a store in memory
	file atomic.Pointer[Shipping]
	news atomic.Pointer[chan struct{}] // nil: nobody waits for commits

	mu   sync.Mutex
	pins map[cf.Position]int
}

// A Shipping is the content of a file. As long as the file exists, the log is kept for
// standbys. A copy of the database does not have the file.
type Shipping struct {
	History string `json:"history"`
	Bytes   int64  `json:"bytes"` // of logs that are kept at least
	// At is the position of the store when it began, if the engine asks for it.
	At cf.Position `json:"at,omitempty"`
	// Trimmed: some of the log since then is gone, if the engine asks for it.
	Trimmed bool `json:"trimmed,omitempty"`
}

const (
	shippingFile = "standbys.json"
	loadsDir     = "loads" // with a directory for each load
)

// In says in which directory everything is kept. It is called once, first.
func (k *Kept) In(dir string) { k.dir = dir }

// Read continues the work of an earlier process. left is the error of removing that
// process's remains; it is harmless.
func (k *Kept) Read() (left, err error) {
	text, err := os.ReadFile(filepath.Join(k.dir, shippingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return k.remove(), nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	s := new(Shipping)
	if err := json.Unmarshal(text, s); err != nil || s.History == "" {
		return nil, fmt.Errorf("%w: %s", cf.ErrCorrupt, filepath.Join(k.dir, shippingFile))
	}
	k.file.Store(s)
	return nil, k.removeUndated()
}

// Shipping says what is kept, nil if nothing is. It is never changed.
func (k *Kept) Shipping() *Shipping { return k.file.Load() }

// Ships is the history; "" if nothing is kept.
func (k *Kept) Ships() string {
	if s := k.file.Load(); s != nil {
		return s.History
	}
	return ""
}

// Ship writes the list of kept files. The directory exists.
func (k *Kept) Ship(s Shipping) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(k.dir, shippingFile), text); err != nil {
		return unavailable(err)
	}
	k.file.Store(&s)
	return nil
}

// End undoes Ship. The file must not come back after a loss of power: the log has
// no notes for standbys from now on.
func (k *Kept) End() error {
	err := os.Remove(filepath.Join(k.dir, shippingFile))
	if err == nil {
		err = syncDir(k.dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	k.file.Store(nil)
	if err := k.remove(); err != nil {
		return unavailable(err)
	}
	return nil
}

// remove deletes the other files, once the list is gone: a process may be killed before
// it removes everything, or before it renames the file that it wrote.
func (k *Kept) remove() error {
	err := os.Remove(filepath.Join(k.dir, shippingFile+".tmp"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(k.dir, loadsDir)))
}

// Pin keeps the log after a position until release is called.
func (k *Kept) Pin(at cf.Position) (release func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pins == nil {
		k.pins = map[cf.Position]int{}
	}
	k.pins[at]++
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.pins[at]--; k.pins[at] == 0 {
			delete(k.pins, at)
		}
	})
}

// lowestPin is the first position that a pin keeps the log after.
func (k *Kept) lowestPin() (low cf.Position, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at := range k.pins {
		if !ok || at < low {
			low, ok = at, true
		}
	}
	return low, ok
}

// News is closed when Tell is called after the call.
func (k *Kept) News() <-chan struct{} {
	for {
		if c := k.news.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		k.news.CompareAndSwap(nil, &c)
	}
}

// Tell wakes those that wait for News.
func (k *Kept) Tell() {
	if k.news.Load() == nil {
		return
	}
	if c := k.news.Swap(nil); c != nil {
		close(*c)
	}
}

// A Trim is how much is kept, while logs are trimmed from the oldest on.
type Trim struct {
	kept *Kept
	*Shipping
	later int64  // bytes of the logs after the one that is looked at, and of loads
	loads []Load // those that come later
}

// Trim begins to trim. bytes is the size of the logs and the loads.
func (k *Kept) Trim(bytes int64) (*Trim, error) {
	t := &Trim{kept: k, Shipping: k.file.Load(), later: bytes}
	var err error
	if t.Shipping != nil {
		t.loads, err = k.Loads()
	}
	return t, err
}

// Needs reports whether standbys need the next log. next is the first change of the log after
// it, if there is one.
func (t *Trim) Needs(bytes int64, next func() (first uint64, ok bool, err error)) (bool, error) {
	if t.Shipping == nil {
		return false, nil
	}
	first, ok, err := next()
	if err != nil {
		return false, err
	}
	t.later -= bytes
	for ok && len(t.loads) > 0 && t.loads[0].at < first {
		t.later -= t.loads[0].Bytes
		t.loads = t.loads[1:]
	}
	if t.later < t.Bytes || !ok { // the last record is the one by which a standby is recognized
		return true, nil
	}
	pin, pinned := t.kept.lowestPin()
	return pinned && first > uint64(pin)+1, nil
}

// A Load is the kept files of a load.
type Load struct {
	Bytes int64
	path  string
	at    uint64 // the sequence number from which on the log must be there
}

// undated is the sequence number of the kept files of a load that is not in the log yet.
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

// removeUndated removes the remains of loads that a crash kept from the log.
func (k *Kept) removeUndated() error {
	loads, err := k.Loads()
	for _, l := range loads {
		if l.at == undated {
			err = errors.Join(err, os.RemoveAll(l.path))
		}
	}
	return err
}

// KeepLoad keeps the files of a load for standbys, as long as the log after a sequence
// number, or until DateLoad says when it comes if that is 0. Files are copied where the
// file system lacks links, so the caller holds no lock that writes need.
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

// writeFile writes a synced file whole or not at all.
func writeFile(path string, text []byte) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = osfile.RenameSynced(path+".tmp", path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+".tmp"))
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(osfile.SyncDir(d), d.Close())
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", cf.ErrUnavailable, err) }
