package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// A Deleted is a table that was deleted and is kept: its families are in the store as
// they were.
type Deleted struct {
	*Table
	At    cells.Timestamp // when it was deleted
	Until cells.Timestamp // then it is removed for good
}

// A deletedEntry is the catalog's entry of a deleted table: everything that makes it a
// table again.
type deletedEntry struct {
	Table json.RawMessage   `json:"table"`
	Store string            `json:"store"`
	At    cells.Timestamp   `json:"at"`
	Until cells.Timestamp   `json:"until"`
	Note  []byte            `json:"note,omitempty"`
	Loads map[string]string `json:"loads,omitempty"` // by name, the records of bulk loads
}

// Key is the key of the entry of a deleted table.
func (d *Deleted) Key() string { return fmt.Sprintf("%s%s/%d", PrefixDeleted, d.Name, d.At) }

// Bytes is the size of its files.
func (d *Deleted) Bytes(stats cf.Stats) (n int64) {
	for _, f := range d.Families {
		of := stats.Families[f.Store]
		n += of.Bytes()
	}
	return n
}

// readDeleted collects the deleted tables.
func readDeleted(entries map[string][]byte) ([]*Deleted, error) {
	var all []*Deleted
	for key, value := range entries {
		if !strings.HasPrefix(key, PrefixDeleted) {
			continue
		}
		d, _, err := ReadDeleted(key, value)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *Deleted) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}

// ReadDeleted reads the entry of a deleted table. extra are the entries that come back
// with the table.
func ReadDeleted(key string, value []byte) (d *Deleted, extra map[string][]byte, err error) {
	var e deletedEntry
	damaged := func(err error) error { return fault.Errorf(fault.Corruption, "catalog entry %s: %w", key, err) }
	if err := json.Unmarshal(value, &e); err != nil {
		return nil, nil, damaged(err)
	}
	t, err := schema.UnmarshalCatalog(e.Table)
	if err != nil {
		return nil, nil, damaged(err)
	}
	d = &Deleted{newTable(t, e.Store), e.At, e.Until}
	if d.Key() != key || e.Store == "" {
		return nil, nil, fault.Errorf(fault.Corruption, "catalog entry %s describes table %q, deleted at %d", key, t.Name, e.At)
	}
	extra = map[string][]byte{}
	if e.Note != nil {
		extra[PrefixTableNote+t.Name] = e.Note
	}
	for name, record := range e.Loads {
		extra[LoadKey(t.Name, name)] = []byte(record)
	}
	return d, extra, nil
}

// Marshal is the entry of the deleted table. extra are the entries that the table had
// beside its own.
func (d *Deleted) Marshal(extra map[string][]byte) ([]byte, error) {
	table, err := d.Declared.MarshalCatalog()
	if err != nil {
		return nil, err
	}
	e := deletedEntry{Table: table, Store: d.Store, At: d.At, Until: d.Until, Note: extra[PrefixTableNote+d.Name]}
	for key, value := range extra {
		if name, ok := strings.CutPrefix(key, LoadKey(d.Name, "")); ok {
			if e.Loads == nil {
				e.Loads = map[string]string{}
			}
			e.Loads[name] = string(value)
		}
	}
	return json.Marshal(e)
}

// undelete carries out the part of a plan that is about deleted tables. The plan that it
// returns says how the tables that come back are declared; back maps them to their names
// in the store.
func (c *Catalog) undelete(plan schema.Plan, now, until cells.Timestamp) (_ schema.Plan, deleted []*Deleted, back map[string]string, err error) {
	deleted, back = slices.Clone(c.Deleted), map[string]string{}
	plan.Changes = slices.Clone(plan.Changes)
	at := now
	if n := len(deleted); n > 0 {
		at = max(now, deleted[n-1].At+1) // no two have the same time
	}
	for i := range plan.Changes {
		ch := &plan.Changes[i]
		switch named := func(d *Deleted) bool { return d.Name == ch.Table }; ch.Kind {
		case schema.DeleteTable:
			t := c.Tables[ch.Table]
			deleted = append(deleted, &Deleted{newTable(t.Declared, t.Store), at, until})
			at++
		case schema.PurgeTable:
			deleted = slices.DeleteFunc(deleted, named)
		case schema.UndeleteTable:
			last := len(deleted) - 1
			for last >= 0 && !(named(deleted[last]) && deleted[last].Until > now) {
				last--
			}
			if last < 0 {
				return plan, nil, nil, fault.Errorf(fault.NotFound, "there is no deleted table %q to bring back", ch.Table)
			}
			t := deleted[last].Declared
			ch.Families, ch.NewRetention, ch.NewKeyFormat, ch.NewChangeStream = t.Families, t.Retention, t.KeyFormat, t.ChangeStream
			back[ch.Table] = deleted[last].Store
			deleted = slices.Delete(deleted, last, last+1)
		}
	}
	return plan, deleted, back, nil
}

// all are the tables, and after them the deleted ones.
func (c *Catalog) all() iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for _, t := range c.Tables {
			if !yield(t) {
				return
			}
		}
		for _, d := range c.Deleted {
			if !yield(d.Table) {
				return
			}
		}
	}
}

// stores are the names in the store of the tables of a schema. Tables keep theirs,
// tables that come back are named by back, and new ones get names that no table and no
// deleted table uses, since the store cannot rename families.
func (c *Catalog) stores(s *schema.Schema, back map[string]string) map[string]string {
	names, taken := maps.Clone(back), map[string]bool{}
	if names == nil {
		names = map[string]string{}
	}
	for t := range c.all() {
		taken[t.Store] = true
	}
	for i := range s.Tables {
		name := s.Tables[i].Name
		if t := c.Tables[name]; t != nil {
			names[name] = t.Store
		} else if names[name] == "" {
			names[name] = freeName(name, taken)
		}
	}
	return names
}

func freeName(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s~%d", name, n)
	}
	return free
}

// ReadStores collects the names of tables in the store that are not their own.
func ReadStores(entries map[string][]byte) map[string]string {
	stores := map[string]string{}
	for key, value := range entries {
		if table, ok := strings.CutPrefix(key, prefixStore); ok {
			stores[table] = string(value)
		}
	}
	return stores
}

// PutStores adds the differences of two catalogs to a batch, as far as they are about
// names in the store.
func PutStores(b *cf.Batch, old, next *Catalog) {
	other := func(c *Catalog, table string) string {
		if t := c.Tables[table]; t != nil && t.Store != t.Name {
			return t.Store
		}
		return ""
	}
	for name := range next.Tables {
		if store := other(next, name); store != "" && store != other(old, name) {
			b.PutMeta(prefixStore+name, []byte(store))
		}
	}
	for name := range old.Tables {
		if other(old, name) != "" && other(next, name) == "" {
			b.DeleteMeta(prefixStore + name)
		}
	}
}
