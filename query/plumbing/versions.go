package plumbing

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// VisibleVersions is how many of the newest versions of a column readers see at most, by the family
// of a store that is open without a database. Families whose readers see all are missing.
func VisibleVersions(ctx context.Context, store cf.Reader) (map[string]int, error) {
	entries, err := catalog.Entries(ctx, store, "")
	if err != nil {
		return nil, err
	}
	c, err := catalog.Read(entries)
	if err != nil {
		return nil, err
	}
	most := map[string]int{}
	for _, t := range c.Tables {
		for _, f := range t.Families {
			for _, l := range f.Limits {
				if l.Age == 0 && l.Versions > 0 && (most[f.Store] == 0 || l.Versions < most[f.Store]) {
					most[f.Store] = l.Versions
				}
			}
		}
	}
	return most, nil
}
