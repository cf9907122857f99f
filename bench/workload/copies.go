package workload

import (
	"context"
	"github.com/smolwc/smolwc/bench/contest"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
)

// Copies are the contenders of a contest that reads and writes. Each contender uses its
// own copy of a dataset for all rounds. No contender syncs.
type copies struct {
	*dataset
	contenders []contest.Contender
}

// add adds a contender; start prepares a round and returns the function to measure.
func (c *copies) add(name string, start func(round int) func(context.Context) (contest.Done, error)) {
	c.contenders = append(c.contenders, contest.Contender{Name: name, Start: func(_ context.Context, round int) (contest.Attempt, error) {
		return contest.Attempt{Do: start(round)}, nil
	}})
}

func (c *copies) contest() *contest.Contest {
	return &contest.Contest{Contenders: c.contenders, Close: c.close}
}

// copyDir copies a directory into a new one, which is removed when the dataset is
// closed. Table files never change, so the copy shares them, unless the engine empties a
// file before it removes it.
func (c *copies) copyDir(from string, empties bool) (string, error) {
	dir, remove, err := c.env.fresh()
	if err != nil {
		return "", err
	}
	c.open = append(c.open, remove)
	to := filepath.Join(dir, "data")
	if empties {
		return to, os.CopyFS(to, os.DirFS(from))
	}
	tables, err := filepath.Glob(filepath.Join(from, "*.sst"))
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return "", err
	}
	for _, table := range tables {
		if err := os.Link(table, filepath.Join(to, filepath.Base(table))); err != nil {
			return "", err
		}
	}
	return to, os.CopyFS(to, withoutTables{os.DirFS(from)})
}

// withoutTables is a directory without its table files.
type withoutTables struct{ fs.FS }

func (w withoutTables) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return name == "." && filepath.Ext(e.Name()) == ".sst" }), err
}

// each opens a copy on each engine through package query.
func (c *copies) each(add func(name string, t *query.Table)) error {
	for _, engine := range c.env.Engines {
		db, err := c.on(engine)
		if err != nil {
			return err
		}
		add(on(engine, nameSmolwc), db.Table(tableName))
	}
	return nil
}

// on opens a copy on an engine.
func (c *copies) on(engine string) (*query.DB, error) {
	dir, err := c.copyDir(dirOn(engine, c.dir), false)
	if err != nil {
		return nil, err
	}
	db, err := c.env.openDB(engine, dir, nil)
	if err == nil {
		c.open = append(c.open, db.Close)
	}
	return db, err
}

// store opens a copy below the data model.
func (c *copies) store() (*rocks.Store, error) {
	dir, err := c.copyDir(c.dir, false)
	if err != nil {
		return nil, err
	}
	s, err := rocks.Open(dir, rocks.Options{Memory: c.env.Memory, Async: true})
	if err == nil {
		c.open = append(c.open, s.Close)
	}
	return s, err
}

// families returns families of a copy, for C.
func (c *copies) families(names ...string) (fs []yardstick.Family, err error) {
	s, err := c.store()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		raw, err := s.Raw(storeName(name))
		if err != nil {
			return nil, err
		}
		fs = append(fs, yardstick.Of(raw))
	}
	return fs, nil
}

// peer opens a peer on copies of families.
func (c *copies) peer(ctx context.Context, p Peer, families ...string) (kvs []KV, err error) {
	var store *rocks.Store
	if p.Over != nil {
		store, err = c.store()
	} else {
		store, err = c.dataset.store()
	}
	if err != nil {
		return nil, err
	}
	for _, family := range families {
		kv, err := c.peerCopy(ctx, p, store, family)
		if err != nil {
			return nil, err
		}
		c.open = append(c.open, kv.Close)
		kvs = append(kvs, kv)
	}
	return kvs, nil
}

func (c *copies) peerCopy(ctx context.Context, p Peer, store *rocks.Store, family string) (KV, error) {
	if p.Over != nil {
		return c.dataset.peer(ctx, p, store, family)
	}
	from, err := c.peerDir(ctx, p, store, family)
	if err != nil {
		return nil, err
	}
	dir, err := c.copyDir(from, p.Empties)
	if err != nil {
		return nil, err
	}
	return p.Open(dir, PeerOptions{Memory: c.env.Memory})
}
