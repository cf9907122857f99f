package workload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// A KV is one family's cells in an ordered key-value store, as a Go program uses it by
// hand. It is safe for concurrent use. Keys and values passed to a function are valid
// until the function returns.
type KV interface {
	// Scan calls fn for each pair from start, inclusive, to end, exclusive, in order,
	// until fn returns false; a nil end is no bound.
	Scan(start, end []byte, fn func(key, value []byte) bool) error
	// Row is Scan of the keys that begin with start, a row prefix or longer; it may use
	// filters of row prefixes.
	Row(start []byte, fn func(key, value []byte) bool) error
	// Get calls fn with a key's value, if the key exists.
	Get(key []byte, fn func(value []byte)) error
	// Write writes n pairs atomically.
	Write(n int, pair func(i int) (key, value []byte)) error
	// Compact brings loaded data into the form that reads fastest.
	Compact() error
	Close() error
}

// A Peer is an engine to compare with. Exactly one of Over and Open is set.
type Peer struct {
	Name string
	// Over uses a family of smolwc's own files, through a binding.
	Over func(raw rocks.Raw, sync bool) KV
	// Open creates or opens a database of the peer's own.
	Open func(dir string, o PeerOptions) (KV, error)
	// Empties says that it empties a file before it removes it, so that its files cannot
	// be shared between copies.
	Empties bool
}

// PeerOptions make a peer as similar to smolwc as possible.
type PeerOptions struct {
	Memory int64 // as in query.Options
	Sync   bool  // every write is on disk when it returns
}

// peers opens each peer on families of the dataset for reading. For peers with their
// own files it makes a copy first.
func (d *dataset) peers(ctx context.Context, store *rocks.Store, families ...string) (map[string][]KV, error) {
	all := map[string][]KV{}
	for _, p := range d.env.Peers {
		for _, f := range families {
			kv, err := d.peer(ctx, p, store, f)
			if err != nil {
				return nil, err
			}
			d.open = append(d.open, kv.Close)
			all[p.Name] = append(all[p.Name], kv)
		}
	}
	return all, nil
}

func (d *dataset) peer(ctx context.Context, p Peer, store *rocks.Store, family string) (KV, error) {
	if p.Over != nil {
		raw, err := store.Raw(storeName(family))
		if err != nil {
			return nil, err
		}
		return p.Over(raw, false), nil
	}
	dir, err := d.peerDir(ctx, p, store, family)
	if err != nil {
		return nil, err
	}
	return p.Open(dir, PeerOptions{Memory: d.env.Memory})
}

// peerDir returns the directory of a family for a peer with its own files; it writes
// the files if they do not exist.
func (d *dataset) peerDir(ctx context.Context, p Peer, store *rocks.Store, family string) (string, error) {
	dir := strings.Join([]string{d.dir, family, p.Name}, ".")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	draft := dir + ".draft"
	if err := os.RemoveAll(draft); err != nil {
		return "", err
	}
	kv, err := p.Open(draft, PeerOptions{Memory: d.env.Memory})
	if err != nil {
		return "", err
	}
	if err := errors.Join(copyFamily(ctx, store, storeName(family), kv), kv.Compact(), kv.Close()); err != nil {
		return "", err
	}
	return dir, os.Rename(draft, dir)
}

// copyFamily writes all of a family's cells to another store.
func copyFamily(ctx context.Context, store *rocks.Store, family string, to KV) error {
	snap, err := store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	cursor, err := snap.Scan(ctx, cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		return err
	}
	defer cursor.Close()
	for {
		b, err := cursor.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := copyBlock(b, to); err != nil {
			return err
		}
	}
}

func copyBlock(b *cf.Block, to KV) error {
	keys := make([][]byte, 0, len(b.Cells))
	for i := range b.Rows {
		for _, c := range b.RowCells(&b.Rows[i]) {
			keys = append(keys, cf.AppendCellKey(nil, b.RowKey(&b.Rows[i]), b.Qualifier(&c), c.Timestamp))
		}
	}
	return to.Write(len(keys), func(i int) ([]byte, []byte) { return keys[i], b.Value(&b.Cells[i]) })
}

// freshPeer opens a peer in an empty directory, for one round of writes.
func (e *Env) freshPeer(ctx context.Context, p Peer, dir string, families []string, sync bool) ([]KV, func() error, error) {
	var kvs []KV
	closeAll := func() error {
		var errs []error
		for _, kv := range kvs {
			errs = append(errs, kv.Close())
		}
		return errors.Join(errs...)
	}
	if p.Over != nil {
		store, err := rocks.Open(dir, rocks.Options{Memory: e.Memory, Async: !sync})
		if err != nil {
			return nil, nil, err
		}
		for _, f := range families {
			if err := store.CreateFamily(ctx, storeName(f)); err != nil {
				return nil, nil, errors.Join(err, closeAll(), store.Close())
			}
			raw, err := store.Raw(storeName(f))
			if err != nil {
				return nil, nil, errors.Join(err, closeAll(), store.Close())
			}
			kvs = append(kvs, p.Over(raw, sync))
		}
		return kvs, func() error { return errors.Join(closeAll(), store.Close()) }, nil
	}
	for _, f := range families {
		kv, err := p.Open(filepath.Join(dir, f), PeerOptions{Memory: e.Memory, Sync: sync})
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		kvs = append(kvs, kv)
	}
	return kvs, closeAll, nil
}

// PrefixEnd returns the first key after all keys that begin with a prefix; nil if there
// is no such key.
func PrefixEnd(prefix []byte) []byte {
	end, ok := cf.PrefixSuccessor(string(prefix))
	if !ok {
		return nil
	}
	return []byte(end)
}
