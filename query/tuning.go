package query

import "github.com/smolwc/smolwc/cf"

// tune tells the store how to keep the families of a catalog, where that differs
// from old's, which may be nil.
func (db *DB) tune(old, next *catalog) error {
	for _, t := range next.tables {
		for _, f := range t.families {
			if f.tuning == old.tuning(t.name, f.name) {
				continue
			}
			if err := db.store.SetTuning(f.store, f.tuning); err != nil {
				return err
			}
		}
	}
	return nil
}

// tuning is a family's tuning, zero for an absent family.
func (c *catalog) tuning(table, family string) cf.Tuning {
	if c == nil || c.tables[table] == nil {
		return cf.Tuning{}
	}
	f, err := c.tables[table].family(family)
	if err != nil {
		return cf.Tuning{}
	}
	return f.tuning
}
