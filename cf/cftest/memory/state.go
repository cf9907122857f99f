package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
)

// A state is everything in a store at one moment. It does not change.
type state struct {
	families map[string]family
	meta     *tree
	catalog  uint64 // its version
	at       cf.Position
}

type family struct {
	id     int // another one for each family that was ever made
	cells  *tree
	expiry cf.Expiry
}

// without is the family without the cells of rows that are older than a time.
func (f family) without(rows cf.Range, before int64) family {
	ctx, all := context.Background(), walker{tree: f.cells}
	start, end := rows.Bounds()
	for ok := all.Seek(ctx, start); ok && bytes.Compare(all.Key(), end) < 0; ok = all.Next(ctx) {
		if _, _, ts, err := cf.SplitCellKey(all.Key()); err == nil && ts < before {
			f.cells = f.cells.put(all.Key(), nil)
		}
	}
	return f
}

func (s *state) clone() *state {
	c := *s
	c.families = maps.Clone(s.families)
	return &c
}

func (s *state) family(name string) (family, error) {
	f, ok := s.families[name]
	if !ok {
		return f, fmt.Errorf("family %s %w", name, cf.ErrNotExist)
	}
	return f, nil
}

// apply makes the changes of a batch in a state that is not shared yet.
func (s *state) apply(b *cf.Batch) error {
	if version, ok := b.DemandsCatalog(); ok && version != s.catalog {
		return cf.ErrCatalogChanged
	}
	if b.RaisesCatalog() {
		s.catalog++
	}
	for i := range b.Ops() {
		op := &b.Ops()[i]
		key, value := bytes.Clone(b.Key(op)), append([]byte{}, b.Value(op)...)
		switch op.Kind {
		case cf.OpNote:
		case cf.OpPutMeta:
			s.meta = s.meta.put(key, value)
		case cf.OpDeleteMeta:
			s.meta = s.meta.put(key, nil)
		default:
			if err := s.change(op, key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// change changes cells of a family.
func (s *state) change(op *cf.Op, key, value []byte) error {
	f, err := s.family(op.Family)
	if err != nil {
		return err
	}
	switch op.Kind {
	case cf.OpPut:
		f.cells = f.cells.put(key, value)
	case cf.OpMerge:
		f.cells = f.cells.put(key, merge.Full(f.cells.get(key), value))
	case cf.OpDelete:
		f.cells = f.cells.put(key, nil)
	case cf.OpDeleteRange:
		f.cells = f.cells.drop(key, value)
	default:
		return fmt.Errorf("operation %d is unknown", op.Kind)
	}
	s.families[op.Family] = f
	return nil
}
