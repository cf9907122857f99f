// Package kept has what a store keeps for its standbys beside the logs: how much of them it
// keeps, which positions are pinned, and the files of loads.
package kept

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/osfile"
)

// A Kept is what a store keeps in a directory. It is safe for concurrent use.
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
}

const (
	shippingFile = "standbys.json"
	loadsDir     = "loads" // with a directory for each load
)

// In says in which directory everything is kept. It is called once, first.
func (k *Kept) In(dir string) { k.dir = dir }

// Read continues what an earlier process has begun. left is the error of removing what it has
// left behind, which does no harm.
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

// Ship writes down what is kept. The directory exists.
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

// End ends what Ship began. The file must not come back after a loss of power: the log has
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

// remove removes what is beside the file, once that is gone: a process may be killed before
// it has removed everything, and before it has renamed the file that it wrote.
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

// Trim begins to trim. bytes are those of the logs and the loads.
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
