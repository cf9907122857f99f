package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/smolwc/smolwc/bench/machine"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// An Env is the environment that workloads share: the place and the size of their data,
// and the peers to compare with.
type Env struct {
	Dir     string   // for data; existing data of the same size is used again
	Cells   int      // in a table for reads
	Writes  int      // cells that a round of a write workload writes
	Ops     int      // operations in a round of gets and of mixed workloads
	Memory  int64    // of each database, in bytes
	Flights string   // a CSV file of flights to import; "": a generated one
	Engines []string // that smolwc is on
	Peers   []Peer
}

// DefaultEnv returns an Env for tables of a number of cells, without peers.
func DefaultEnv(dir string, cells int) *Env {
	return &Env{Dir: dir, Cells: cells, Writes: max(min(cells, 250_000)/cellsPerRow*cellsPerRow, cellsPerRow), Ops: max(1, min(cells/20, 50_000)), Memory: 1 << 30, Engines: []string{RocksDB}}
}

const tableName = "bench"

// A dataset is a table on disk that is only read.
type dataset struct {
	env   *Env
	dir   string
	table string
	open  []func() error // functions to call in close
}

// dataset returns the dataset with a name and a number of rows. If it does not exist,
// load writes it, and it is then compacted.
func (e *Env) dataset(ctx context.Context, name string, rows int, families []schema.Family, load func(*query.Table) error) (*dataset, error) {
	d := &dataset{env: e, dir: filepath.Join(e.Dir, fmt.Sprintf("%s-%d", name, rows)), table: tableName}
	return d, e.draft(d.dir, families, func(t *query.Table) error {
		if err := load(t); err != nil {
			return err
		}
		return t.Compact(ctx)
	})
}

// draft makes a database on each engine, RocksDB for C. It is at its place only when it is
// complete.
func (e *Env) draft(dir string, families []schema.Family, load func(*query.Table) error) error {
	for _, engine := range Engines {
		if engine == RocksDB || slices.Contains(e.Engines, engine) {
			if err := e.draftOn(engine, dirOn(engine, dir), families, load); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Env) draftOn(engine, dir string, families []schema.Family, load func(*query.Table) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	draft := dir + ".draft"
	if err := errors.Join(os.RemoveAll(draft), os.MkdirAll(e.Dir, 0o755)); err != nil {
		return err
	}
	db, err := e.openDB(engine, draft, families)
	if err != nil {
		return err
	}
	if err := errors.Join(load(db.Table(tableName)), db.Close()); err != nil {
		return err
	}
	return os.Rename(draft, dir)
}

// openDB opens a database with the table, for writing without syncs.
func (e *Env) openDB(engine, dir string, families []schema.Family) (*query.DB, error) {
	return e.openDurable(engine, dir, families, query.DurabilityAsync)
}

func (e *Env) openDurable(engine, dir string, families []schema.Family, d query.Durability) (*query.DB, error) {
	o := query.Options{Durability: d}
	if families != nil {
		o.Schema = &schema.Schema{Tables: []schema.Table{{Name: tableName, Families: families}}}
	}
	return e.openOn(engine, dir, o)
}

// openStore opens smolwc's store below its data model, with the same options, and
// creates the families.
func (e *Env) openStore(ctx context.Context, dir string, families []schema.Family, sync bool) (*rocks.Store, error) {
	s, err := rocks.Open(dir, rocks.Options{Memory: e.Memory, Async: !sync})
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		if err := s.CreateFamily(ctx, storeName(f.Name)); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func storeName(family string) string { return tableName + "/" + family }

// fresh creates an empty directory for one round, and returns a function to remove it.
func (e *Env) fresh() (dir string, remove func() error, err error) {
	if err := os.MkdirAll(e.Dir, 0o755); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(e.Dir, "round-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// bytesUnder returns the size of all files of a directory that is in use. Neither holes
// count nor room beyond the end of a file.
func bytesUnder(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info os.FileInfo
			if info, err = d.Info(); err == nil {
				sum += min(info.Size(), machine.AllocatedBytes(info))
			}
		}
		if errors.Is(err, os.ErrNotExist) { // removed meanwhile
			return nil
		}
		return err
	})
	return sum, err
}

// smolwc opens the dataset for reading through package query.
func (d *dataset) smolwc(engine string) (*query.Table, error) {
	db, err := d.env.openOn(engine, dirOn(engine, d.dir), query.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	d.open = append(d.open, db.Close)
	return db.Table(d.table), nil
}

// store opens the same files again, with a separate cache, below the data model.
func (d *dataset) store() (*rocks.Store, error) {
	s, err := rocks.Open(d.dir, rocks.Options{ReadOnly: true, Memory: d.env.Memory})
	if err != nil {
		return nil, err
	}
	d.open = append(d.open, s.Close)
	return s, nil
}

func (d *dataset) close() error {
	var errs []error
	for i := len(d.open) - 1; i >= 0; i-- {
		errs = append(errs, d.open[i]())
	}
	d.open = nil
	return errors.Join(errs...)
}
