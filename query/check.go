package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/schema"
)

// A CheckReport is the result of [DB.Check].
type CheckReport struct {
	// Families are those of all tables, sorted by table, then by name. Families of
	// deleted tables that are kept are checked too, but not listed here.
	Families []FamilyCheck
	// Files and FileBytes count the files compared with their checksums.
	Files, FileBytes int64
	// Problems are the first hundred; Count is how many there are.
	Problems []Problem
	Count    int64
}

// OK reports whether the check found no problem.
func (r *CheckReport) OK() bool { return r != nil && r.Count == 0 }

// A FamilyCheck counts the stored data of a family, hidden by retention or not.
type FamilyCheck struct {
	Table, Family string
	Rows, Cells   int64
	Bytes         int64 // of keys and values as they are stored, uncompressed
	Problems      int64
}

// A Problem is a fault of a database.
type Problem struct {
	File   string // "" when the problem is in no single file, or in an unknown one
	Family string // as table/family, "" when it is in none
	Key    []byte // the physical key, nil when it is in no single cell
	Err    error
}

// String is the place and the fault.
func (p *Problem) String() string {
	if p == nil || p.Err == nil {
		return "no problem"
	}
	var where []string
	if p.File != "" {
		where = append(where, "file "+p.File)
	}
	if p.Family != "" {
		where = append(where, "family "+p.Family)
	}
	if p.Key != nil {
		where = append(where, fmt.Sprintf("key %x", p.Key))
	}
	if len(where) == 0 {
		return p.Err.Error()
	}
	return strings.Join(where, ", ") + ": " + p.Err.Error()
}

// CheckProgress is how far a check is.
type CheckProgress struct {
	Files, FileBytes int64  // read so far
	Family           string // the family being read, "" while files are read
	Cells            int64  // read so far
}

// A CheckOption changes a check.
type CheckOption func(*checker)

// OnCheckProgress calls fn from time to time during a check; a nil fn is ignored.
func OnCheckProgress(fn func(CheckProgress)) CheckOption {
	return func(c *checker) {
		if fn != nil {
			c.progress = fn
		}
	}
}

// Check reads the whole database and reports what is wrong with it: files that do not
// match their checksums; a catalog that does not decode or does not fit the families;
// keys that are not cells' keys, out of order or out of bounds; values that do not
// decode or do not fit their family's type or aggregate. It reads one snapshot, while
// reads and writes continue, and changes nothing. An error means that the check could
// not be done, not that something is wrong.
func (db *DB) Check(ctx context.Context, opts ...CheckOption) (*CheckReport, error) {
	if err := db.ready(ctx); err != nil {
		return nil, fail("check", "", "", err)
	}
	c := &checker{db: db, progress: func(CheckProgress) {}}
	for i, o := range opts {
		if o == nil {
			return nil, fail("check", "", "", fault.Nil("check option", i))
		}
		o(c)
	}
	if err := c.run(ctx); err != nil {
		return nil, fail("check", "", "", err)
	}
	return &c.report, nil
}

// mostProblems is how many problems are reported one by one.
const mostProblems = 100

type checker struct {
	db       *DB
	report   CheckReport
	progress func(CheckProgress)
	at       CheckProgress
}

func (c *checker) add(p Problem) {
	if c.report.Count++; c.report.Count <= mostProblems {
		c.report.Problems = append(c.report.Problems, p)
	}
}

func (c *checker) run(ctx context.Context) error {
	if err := c.files(ctx); err != nil {
		return err
	}
	snap, families, err := c.db.moment(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, "")
	if errors.Is(err, cf.ErrCorrupt) {
		c.add(Problem{Err: err})
	} else if err != nil {
		return err
	}
	declared := c.catalog(entries)
	for _, family := range families {
		f := declared[family]
		if f == nil {
			f = &declaredFamily{table: "", family: schema.Family{Name: family}}
		}
		if err := c.family(ctx, snap, family, f, entries); err != nil {
			return err
		}
		delete(declared, family)
	}
	for _, family := range slices.Sorted(maps.Keys(declared)) {
		c.add(Problem{Family: family, Err: errors.New("the catalog declares it, and the store does not have it")})
	}
	return nil
}

// moment is a snapshot and the families in it; the schema does not change between
// taking the two.
func (db *DB) moment(ctx context.Context) (snap cf.Snapshot, families []string, err error) {
	err = db.writing(ctx, func(*catalog.Catalog) error {
		snap, err = db.state.Store.Snapshot(ctx)
		families = db.state.Store.Families()
		return err
	})
	return snap, families, err
}

func (c *checker) files(ctx context.Context) error {
	files, ok := c.db.state.Reader.(cf.Checker)
	if !ok {
		return nil
	}
	return files.CheckFiles(ctx, func(f cf.CheckedFile) error {
		c.report.Files++
		c.report.FileBytes += f.Bytes
		if f.Err != nil {
			c.add(Problem{File: f.Name, Family: f.Family, Err: f.Err})
		}
		c.at.Files, c.at.FileBytes = c.report.Files, c.report.FileBytes
		c.progress(c.at)
		return nil
	})
}

// A declaredFamily is a family with its table, whose name is "" for a family without a
// table.
type declaredFamily struct {
	table   string
	family  schema.Family
	deleted bool // the table was deleted, and is kept
}

// catalog checks the entries of the catalog, and gives the families that it
// declares by their names in the store.
func (c *checker) catalog(entries map[string][]byte) map[string]*declaredFamily {
	declared := map[string]*declaredFamily{}
	var identity state.DB
	if err := identity.ReadIdentity(entries); err != nil {
		c.add(Problem{Err: err})
	}
	stores := catalog.ReadStores(entries)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		for _, prefix := range []string{catalog.PrefixTable, catalog.PrefixDeclared} {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			s, err := catalog.ReadSchema(map[string][]byte{key: entries[key]}, prefix)
			if err != nil {
				c.add(Problem{Err: err})
			} else if prefix == catalog.PrefixTable {
				for _, f := range s.Tables[0].Families {
					name := s.Tables[0].Name
					declared[catalog.StoreName(cmp.Or(stores[name], name), f.Name)] = &declaredFamily{table: name, family: f}
				}
			}
		}
		if strings.HasPrefix(key, catalog.PrefixDeleted) {
			d, _, err := catalog.ReadDeleted(key, entries[key])
			if err != nil {
				c.add(Problem{Err: err})
				continue
			}
			for _, f := range d.Declared.Families {
				declared[catalog.StoreName(d.Store, f.Name)] = &declaredFamily{d.Name, f, true}
			}
		}
	}
	return declared
}

// family reads all stored data of a family.
func (c *checker) family(ctx context.Context, snap cf.Snapshot, name string, d *declaredFamily, entries map[string][]byte) error {
	reader, ok := snap.(cf.EntryReader)
	if !ok {
		return fault.Errorf(fault.FailedPrecondition, "this store cannot be checked")
	}
	w := &familyWalk{checker: c, name: name, declared: d, catalog: entries}
	w.found.Table, w.found.Family = d.table, d.family.Name
	before := c.report.Count
	err := reader.Entries(ctx, name, w.entry)
	switch {
	case errors.Is(err, cf.ErrNotExist): // dropped meanwhile
		return nil
	case errors.Is(err, cf.ErrCorrupt):
		c.add(Problem{Family: name, Err: err})
	case err != nil:
		return err
	}
	if _, dropping := entries[catalog.PrefixDrop+name]; d.table == "" && !dropping && w.found.Cells > 0 {
		c.add(Problem{Family: name, Err: fmt.Errorf("it has %d cells and no table declares it", w.found.Cells)})
	}
	if w.found.Problems = c.report.Count - before; d.table != "" && !d.deleted {
		c.report.Families = append(c.report.Families, w.found)
	}
	return nil
}

// A familyWalk goes through the stored data of a family.
type familyWalk struct {
	*checker
	name     string
	declared *declaredFamily
	catalog  map[string][]byte
	found    FamilyCheck
	key, row []byte // of the previous cell
}

const progressCells = 1 << 16

func (w *familyWalk) entry(key, value []byte) error {
	if _, loading := w.catalog[string(bytes.TrimPrefix(key, []byte{0}))]; loading && key[0] == 0 {
		return nil // the mark of a load that is being made visible
	}
	w.found.Cells++
	w.found.Bytes += int64(len(key) + len(value))
	if err := w.checkKey(key); err != nil {
		w.add(Problem{Family: w.name, Key: bytes.Clone(key), Err: err})
	}
	if err := w.checkValue(value); err != nil {
		w.add(Problem{Family: w.name, Key: bytes.Clone(key), Err: err})
	}
	w.key = append(w.key[:0], key...)
	if w.at.Cells++; w.at.Cells%progressCells == 0 {
		w.at.Family = w.name
		w.progress(w.at)
	}
	return nil
}

func (w *familyWalk) checkKey(key []byte) error {
	if w.key != nil && bytes.Compare(w.key, key) >= 0 {
		return fmt.Errorf("it comes after %x, which is not less", w.key)
	}
	row, qualifier, _, err := cf.SplitCellKey(key)
	if err != nil {
		return err
	}
	if w.found.Rows == 0 || !bytes.Equal(w.row, row) {
		w.found.Rows++
		w.row = append(w.row[:0], row...)
	}
	limits := w.db.limits
	switch {
	case len(row) == 0 || len(row) > limits.RowKey:
		return fmt.Errorf("the row key has %d bytes; it has 1 to %d", len(row), limits.RowKey)
	case len(qualifier) > limits.Qualifier:
		return fmt.Errorf("the qualifier has %d bytes; the limit is %d", len(qualifier), limits.Qualifier)
	}
	return nil
}

func (w *familyWalk) checkValue(value []byte) error {
	f := &w.declared.family
	if f.Aggregate != schema.NoAggregate {
		if _, ok := catalog.AggregateOf(f.Aggregate, value); !ok {
			return fmt.Errorf("the value is not of the aggregate %s", f.Aggregate)
		}
		return nil
	}
	if err := cells.CheckEncoding(value); err != nil {
		return err
	}
	if typ := cells.Type(value[0]); f.Type != cells.TypeAny && typ != f.Type {
		return fmt.Errorf("the value has the type %v; the family has %v", typ, f.Type)
	}
	return nil
}
