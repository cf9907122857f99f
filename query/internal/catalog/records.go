package catalog

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// ReadSchema collects the tables under a prefix.
func ReadSchema(entries map[string][]byte, prefix string) (*schema.Schema, error) {
	s := new(schema.Schema)
	for key, value := range entries {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		t, err := schema.UnmarshalCatalog(value)
		if err != nil {
			return nil, fault.Errorf(fault.Corruption, "catalog entry %s: %w", key, err)
		}
		if t.Name != name {
			return nil, fault.Errorf(fault.Corruption, "catalog entry %s describes table %q", key, t.Name)
		}
		s.Tables = append(s.Tables, *t)
	}
	slices.SortFunc(s.Tables, func(a, b schema.Table) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// Read is the catalog that entries describe.
func Read(entries map[string][]byte) (*Catalog, error) {
	s, err := ReadSchema(entries, PrefixTable)
	if err != nil {
		return nil, err
	}
	streams, err := ReadStreams(entries)
	if err != nil {
		return nil, err
	}
	deleted, err := readDeleted(entries)
	if err != nil {
		return nil, err
	}
	return build(s, streams, ReadStores(entries), deleted), nil
}

// CheckFamilies finds declared families that are missing in the store.
func (c *Catalog) CheckFamilies(have []string) error {
	for _, name := range c.TableNames() {
		for _, f := range c.Tables[name].Families {
			if _, ok := slices.BinarySearch(have, f.Store); !ok {
				return fault.Errorf(fault.Corruption, "the catalog declares family %s, which is missing from the store", f.Store)
			}
		}
	}
	return nil
}
