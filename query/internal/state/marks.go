package state

import (
	"strings"
	"sync"

	"github.com/smolwc/smolwc/query/internal/catalog"
)

// mostMarked bounds the keys in memory for each table.
const mostMarked = 1 << 16

// Marked holds the keys of rows that this process marked as changed. It saves a scan of
// the marks in the store, which are the truth: they survive a crash, and they include
// other processes' marks.
type Marked struct {
	mu     sync.Mutex
	tables map[string]*markedRows // by the names of the changed tables
}

// markedRows are the rows of one table. Without keys, the marks have to be read.
type markedRows struct {
	of   *catalog.Family // the marks that the keys are in
	keys map[string]struct{}
}

// Add adds a row, after the write that marked it.
func (m *Marked) Add(t *catalog.Table, key string) {
	if t.Marks == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := m.tables[t.Name]
	if rows == nil || rows.keys == nil {
		return // all marks are going to be read
	}
	if rows.keys[strings.Clone(key)] = struct{}{}; len(rows.keys) > mostMarked {
		rows.keys = nil
	}
}

// Take removes and returns the keys of a table. If all is false, there may be marks in
// the store that are not among them.
func (m *Marked) Take(t *catalog.Table) (keys map[string]struct{}, all bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tables == nil {
		m.tables = map[string]*markedRows{}
	}
	was := m.tables[t.Name]
	m.tables[t.Name] = &markedRows{t.Marks, map[string]struct{}{}}
	if was == nil || was.keys == nil || was.of != t.Marks {
		return nil, false
	}
	return was.keys, true
}

// Forget makes the next Take report that the marks have to be read.
func (m *Marked) Forget(table string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tables, table)
}
