package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// Stats is the state of a database. Reading it accesses no data; numbers of cells
// come from files' properties and are estimates: see [Table.Count] for counts.
type Stats struct {
	// The engine's figures are of the whole database. Counters are totals since
	// it was opened.
	cf.EngineStats
	// Families are sorted by table, then by name.
	Families []FamilyStats
}

// FamilyStats are the figures of one family of a table.
type FamilyStats struct {
	Table, Family string
	cf.FamilyStats
}

// Table is the families of one table.
func (s *Stats) Table(name string) []FamilyStats {
	var of []FamilyStats
	if s == nil {
		return nil
	}
	for _, f := range s.Families {
		if f.Table == name {
			of = append(of, f)
		}
	}
	return of
}

// Stats collects the engine's figures, of itself and of every family.
func (db *DB) Stats(ctx context.Context) (*Stats, error) {
	if err := db.ready(ctx); err != nil {
		return nil, fail("stats", "", "", err)
	}
	c := db.state.Catalog.Load()
	engine, err := db.state.Store.Stats(ctx)
	if err != nil {
		return nil, fail("stats", "", "", err)
	}
	s := &Stats{EngineStats: engine.Engine}
	for i := range c.Schema.Tables {
		t := c.Tables[c.Schema.Tables[i].Name]
		for _, f := range t.Families {
			if of, ok := engine.Families[f.Store]; ok { // it may have been dropped just now
				s.Families = append(s.Families, FamilyStats{t.Name, f.Name, of})
			}
		}
	}
	return s, nil
}
