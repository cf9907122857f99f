package query

import "github.com/smolwc/smolwc/query/internal/catalog"

// tune tells the store how to keep the families of a catalog, where that differs
// from old's, which may be nil.
func (db *DB) tune(old, next *catalog.Catalog) error {
	for _, t := range next.Tables {
		for _, f := range t.Families {
			if f.Tuning == old.Tuning(t.Name, f.Name) {
				continue
			}
			if err := db.store.SetTuning(f.Store, f.Tuning); err != nil {
				return err
			}
		}
	}
	return nil
}
