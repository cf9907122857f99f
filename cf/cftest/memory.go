package cftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// A Memory is a small [cf.Shared] store in memory, without RocksDB and cgo, for tests of the
// layers above. It reads by a [Model], and a snapshot is a copy of its data. Merges,
// loads, transactions and keeping a log of changes fail with [errors.ErrUnsupported];
// reading the log fails with [cf.ErrTrimmed]. Make one with [NewMemory].
type Memory struct {
	mu       sync.Mutex
	given    sync.Cond // signals that a row was released
	held     map[cf.RowID]bool
	families map[string]map[string]string // physical keys to values
	meta     map[string]string
	catalog  uint64             // its version
	stamps   map[cf.RowID]int64 // the last timestamp of each row
	position cf.Position
	closed   bool
}

var _ cf.Shared = (*Memory)(nil)

// NewMemory makes an empty store.
func NewMemory() *Memory {
	m := &Memory{held: map[cf.RowID]bool{}, families: map[string]map[string]string{}, meta: map[string]string{}, stamps: map[cf.RowID]int64{}}
	m.given.L = &m.mu
	return m
}

// do runs fn with the store locked, unless the context is done or the store closed.
func (m *Memory) do(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return cf.ErrClosed
	}
	return fn()
}

// Limits implements [cf.Store].
func (m *Memory) Limits() cf.Limits {
	return cf.Limits{RowKey: 4 << 10, Qualifier: 16 << 10, Value: 1 << 20, Batch: 64 << 20}
}

// Families implements [cf.Store].
func (m *Memory) Families() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.families))
}

// CreateFamily implements [cf.Store].
func (m *Memory) CreateFamily(ctx context.Context, names ...string) error {
	return m.do(ctx, func() error {
		for _, name := range names {
			if m.families[name] == nil {
				m.families[name] = map[string]string{}
			}
		}
		return nil
	})
}

// DropFamily implements [cf.Store].
func (m *Memory) DropFamily(ctx context.Context, names ...string) error {
	return m.do(ctx, func() error {
		for _, name := range names {
			delete(m.families, name)
		}
		return nil
	})
}

// Snapshot implements [cf.Store].
func (m *Memory) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	s := &memorySnapshot{store: m, families: map[string]map[string]string{}}
	err := m.do(ctx, func() error {
		for name, cells := range m.families {
			s.families[name] = maps.Clone(cells)
		}
		s.meta, s.catalog = maps.Clone(m.meta), m.catalog
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Read implements [cf.Store].
func (m *Memory) Read(ctx context.Context, s *cf.Scan, a *cf.Answer) error {
	snap, err := m.Snapshot(ctx)
	if err != nil {
		return err
	}
	if s.Catalog != 0 && s.Catalog != snap.(*memorySnapshot).catalog {
		return cf.ErrCatalogChanged
	}
	c, err := snap.Scan(ctx, *s)
	if err != nil {
		return err
	}
	return a.ReadAll(ctx, c)
}

// Update implements [cf.Store].
func (m *Memory) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return m.Write(ctx, append([]cf.RowID{}, rows...), func(b *cf.Batch) error {
		snap, err := m.Snapshot(ctx)
		if err != nil {
			return err
		}
		return fn(snap, b)
	})
}

// Write implements [cf.Store].
func (m *Memory) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	b := new(cf.Batch)
	b.SetStamps(m.stamp)
	if rows != nil {
		defer m.hold(rows)()
	}
	if err := fn(b); err != nil {
		return 0, err
	}
	if rows == nil {
		defer m.hold(b.Rows())()
		return m.commit(ctx, b)
	}
	for _, r := range b.Rows() {
		if !slices.Contains(rows, r) {
			return 0, fmt.Errorf("row %q of %s was not named", r.Row, r.Space)
		}
	}
	return m.commit(ctx, b)
}

// hold waits until the rows are free, and locks them until release is called.
func (m *Memory) hold(rows []cf.RowID) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for slices.ContainsFunc(rows, func(r cf.RowID) bool { return m.held[r] }) {
		m.given.Wait()
	}
	for _, r := range rows {
		m.held[r] = true
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, r := range rows {
			delete(m.held, r)
		}
		m.given.Broadcast()
	}
}

func (m *Memory) commit(ctx context.Context, b *cf.Batch) (at cf.Position, err error) {
	err = m.do(ctx, func() error {
		if err := m.check(b); err != nil {
			return err
		}
		for i := range b.Ops() {
			m.apply(b, &b.Ops()[i])
		}
		if b.RaisesCatalog() {
			m.catalog++
		}
		m.position++
		at = m.position
		return nil
	})
	return at, err
}

// check refuses a batch before any of its changes is applied.
func (m *Memory) check(b *cf.Batch) error {
	if version, ok := b.DemandsCatalog(); ok && version != m.catalog {
		return cf.ErrCatalogChanged
	}
	for _, op := range b.Ops() {
		switch op.Kind {
		case cf.OpPutMeta, cf.OpDeleteMeta:
		case cf.OpPut, cf.OpDelete, cf.OpDeleteRange:
			if m.families[op.Family] == nil {
				return fmt.Errorf("family %s %w", op.Family, cf.ErrNotExist)
			}
		default:
			return fmt.Errorf("merges and notes: %w", errors.ErrUnsupported)
		}
	}
	return nil
}

func (m *Memory) apply(b *cf.Batch, op *cf.Op) {
	key, value := string(b.Key(op)), string(b.Value(op))
	switch op.Kind {
	case cf.OpPut:
		m.families[op.Family][key] = value
	case cf.OpDelete:
		delete(m.families[op.Family], key)
	case cf.OpDeleteRange:
		maps.DeleteFunc(m.families[op.Family], func(k, _ string) bool { return k >= key && k < value })
	case cf.OpPutMeta:
		m.meta[key] = value
	case cf.OpDeleteMeta:
		delete(m.meta, key)
	}
}

// PutMeta implements [cf.Store].
func (m *Memory) PutMeta(ctx context.Context, key string, value []byte) error {
	return m.do(ctx, func() error {
		m.meta[key] = string(value)
		m.position++
		return nil
	})
}

// DropRange implements [cf.Store].
func (m *Memory) DropRange(ctx context.Context, families []string, rows cf.Range) error {
	_, err := m.Write(ctx, nil, func(b *cf.Batch) error {
		for _, name := range families {
			b.DeleteRows(name, rows)
		}
		return nil
	})
	return err
}

// Splits implements [cf.Store]: there is one part.
func (m *Memory) Splits(ctx context.Context, families []string, rows cf.Range, _ int) ([]cf.Part, error) {
	return []cf.Part{{End: rows.End}}, m.known(ctx, families...)
}

// Flush implements [cf.Store].
func (m *Memory) Flush(ctx context.Context, family string) error { return m.known(ctx, family) }

// Compact implements [cf.Store].
func (m *Memory) Compact(ctx context.Context, family string, _ cf.Range) error {
	return m.known(ctx, family)
}

// SetExpiry implements [cf.Store]. Expired cells stay.
func (m *Memory) SetExpiry(family string, _ cf.Expiry) error {
	return m.known(context.Background(), family)
}

// SetTuning implements [cf.Store].
func (m *Memory) SetTuning(family string, _ cf.Tuning) error {
	return m.known(context.Background(), family)
}

func (m *Memory) known(ctx context.Context, families ...string) error {
	return m.do(ctx, func() error {
		for _, name := range families {
			if m.families[name] == nil {
				return fmt.Errorf("family %s %w", name, cf.ErrNotExist)
			}
		}
		return nil
	})
}

// Stats implements [cf.Store].
func (m *Memory) Stats(ctx context.Context) (cf.Stats, error) {
	s := cf.Stats{Families: map[string]cf.FamilyStats{}}
	return s, m.do(ctx, func() error {
		for name, cells := range m.families {
			s.Families[name] = cf.FamilyStats{Entries: int64(len(cells))}
		}
		return nil
	})
}

// Ingest implements [cf.Store].
func (m *Memory) Ingest(context.Context) (cf.Ingestion, error) {
	return nil, fmt.Errorf("loads: %w", errors.ErrUnsupported)
}

// Begin implements [cf.Store].
func (m *Memory) Begin(context.Context) (cf.Txn, error) {
	return nil, fmt.Errorf("transactions: %w", errors.ErrUnsupported)
}

// KeepChanges implements [cf.ChangeLog]: nothing is kept.
func (m *Memory) KeepChanges(since time.Time) error {
	if since.IsZero() {
		return nil
	}
	return fmt.Errorf("a log of changes: %w", errors.ErrUnsupported)
}

// KeepsChanges implements [cf.ChangeLog].
func (m *Memory) KeepsChanges() bool { return false }

// Changes implements [cf.ChangeLog].
func (m *Memory) Changes(cf.Position) (cf.Changes, error) { return nil, cf.ErrTrimmed }

// ChangeStarts implements [cf.ChangeLog].
func (m *Memory) ChangeStarts() ([]cf.Position, error) {
	return nil, fmt.Errorf("a log of changes: %w", errors.ErrUnsupported)
}

// Now implements [cf.Shared].
func (m *Memory) Now(ctx context.Context) (int64, error) {
	return time.Now().UnixMicro(), ctx.Err()
}

// TimeOf implements [cf.Shared]. There is no log that has commits.
func (m *Memory) TimeOf(at cf.Position) int64 { return int64(at) }

// stamp gives the timestamps of a row.
func (m *Memory) stamp(r cf.RowID) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamps[r] = max(time.Now().UnixMicro(), m.stamps[r]+1)
	return m.stamps[r]
}

// EndWaits implements [cf.Store]: nothing waits.
func (m *Memory) EndWaits() {}

// Close implements [cf.Store].
func (m *Memory) Close() error {
	return m.do(context.Background(), func() error {
		m.closed = true
		return nil
	})
}

// A memorySnapshot is a copy of a Memory.
type memorySnapshot struct {
	store    *Memory
	closed   atomic.Bool
	families map[string]map[string]string
	meta     map[string]string
	catalog  uint64
}

// CatalogVersion implements [cf.Versioned].
func (s *memorySnapshot) CatalogVersion(ctx context.Context) (uint64, error) {
	return s.catalog, s.ready(ctx)
}

// Scan implements [cf.Snapshot].
func (s *memorySnapshot) Scan(ctx context.Context, scan cf.Scan) (cf.Cursor, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	cells, ok := s.families[scan.Family]
	if !ok {
		return nil, fmt.Errorf("family %s %w", scan.Family, cf.ErrNotExist)
	}
	var sorted []modelCell
	rows := map[string]bool{}
	for key, value := range cells {
		row, qualifier, ts, err := cf.SplitCellKey([]byte(key))
		if err != nil {
			return nil, err
		}
		sorted = append(sorted, modelCell{string(row), Cell{string(qualifier), ts, value}})
		rows[string(row)] = true
	}
	slices.SortFunc(sorted, modelCell.compare)
	m := Model{families: map[string][]modelCell{scan.Family: sorted}}
	c := &memoryCursor{block: newBlock(m.Scan(scan), scan.Filter)}
	c.cost = costOf(c.block)
	c.cost.RowsScanned, c.cost.CellsScanned = int64(len(rows)), int64(len(cells))
	return c, nil
}

// Meta implements [cf.Snapshot].
func (s *memorySnapshot) Meta(ctx context.Context, key string) ([]byte, error) {
	if value, ok := s.meta[key]; ok {
		return []byte(value), s.ready(ctx)
	}
	return nil, s.ready(ctx)
}

// MetaPrefix implements [cf.Snapshot].
func (s *memorySnapshot) MetaPrefix(ctx context.Context, prefix string) (map[string][]byte, error) {
	found := map[string][]byte{}
	for key, value := range s.meta {
		if strings.HasPrefix(key, prefix) {
			found[key] = []byte(value)
		}
	}
	return found, s.ready(ctx)
}

func (s *memorySnapshot) ready(ctx context.Context) error {
	if s.closed.Load() {
		return cf.ErrClosed
	}
	return s.store.known(ctx)
}

// Close implements [cf.Snapshot].
func (s *memorySnapshot) Close() { s.closed.Store(true) }

// newBlock is the result of a scan as one block.
func newBlock(rows Rows, f cf.Filter) *cf.Block {
	b := new(cf.Block)
	add := func(text string) (at, n uint32) {
		at = uint32(len(b.Data))
		b.Data = append(b.Data, text...)
		return at, uint32(len(text))
	}
	for _, r := range rows {
		span := cf.RowSpan{First: uint32(len(b.Cells)), Len: uint32(len(r.Cells))}
		span.Key, span.KeyLen = add(r.Key)
		b.Rows = append(b.Rows, span)
		if f.CountOnly {
			continue
		}
		for _, c := range r.Cells {
			cell := cf.CellSpan{Timestamp: c.Timestamp}
			cell.Offset, cell.QualifierLen = add(c.Qualifier)
			_, cell.ValueLen = add(c.Value)
			b.Cells = append(b.Cells, cell)
		}
	}
	return b
}

func costOf(b *cf.Block) (c cf.Cost) {
	c.Rows, c.Bytes = int64(len(b.Rows)), int64(len(b.Data))
	for _, r := range b.Rows {
		c.Cells += int64(r.Len)
	}
	return c
}

// A memoryCursor yields one block.
type memoryCursor struct {
	block *cf.Block
	cost  cf.Cost
}

// Next implements [cf.Cursor].
func (c *memoryCursor) Next(ctx context.Context) (*cf.Block, error) {
	b := c.block
	c.block = nil
	if err := ctx.Err(); err != nil || b == nil || len(b.Rows) == 0 {
		return nil, err
	}
	return b, nil
}

// Cost implements [cf.Cursor].
func (c *memoryCursor) Cost() cf.Cost { return c.cost }

// Close implements [cf.Cursor].
func (c *memoryCursor) Close() {}
