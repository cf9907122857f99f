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

// CheckFamilies finds declared families that are missing in the store.
func CheckFamilies(s *schema.Schema, have []string) error {
	for i := range s.Tables {
		for _, f := range NewTable(&s.Tables[i]).Families {
			if _, ok := slices.BinarySearch(have, f.Store); !ok {
				return fault.Errorf(fault.Corruption, "the catalog declares family %s, which is missing from the store", f.Store)
			}
		}
	}
	return nil
}
