package edit

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/clock"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// CheckModify finds everything that can be wrong with a read-modify-write.
func CheckModify(t *catalog.Table, key string, m *write.ReadModifyWrite) error {
	if err := catalog.CheckRowKey(key); err != nil {
		return err
	}
	if len(m.Rules()) == 0 {
		return fault.Errorf(fault.InvalidArgument, "read-modify-write has no changes")
	}
	at, _ := m.Timestamp()
	if err := at.Check(); err != nil {
		return fault.Of(fault.InvalidArgument, err)
	}
	for _, r := range m.Rules() {
		r := rule(r)
		f, err := t.Family(r.Family)
		if err != nil {
			return err
		}
		if len(r.Qualifier) > cells.MaxQualifier {
			return fault.Errorf(fault.InvalidArgument, "%s: qualifier of %d bytes is too long; it may have up to %d", r.Family, len(r.Qualifier), cells.MaxQualifier)
		}
		if f.Aggregate != schema.NoAggregate {
			return fault.Errorf(fault.InvalidArgument, "%s:%s: family %s has the aggregate %s: it can be added to, and you cannot %s it", f.Name, excerpt.Of(r.Qualifier), f.Name, f.Aggregate, r.verb())
		}
		if f.Type != cells.TypeAny && !r.fits(f.Type) {
			return fault.Errorf(fault.InvalidArgument, "%s:%s is declared %s; you cannot %s it", r.Family, r.Qualifier, f.Type, r.verb())
		}
	}
	return nil
}

// A rule is one change of a read-modify-write while it is carried out.
type rule write.Rule

func (r *rule) verb() string {
	if r.Appends {
		return "append to"
	}
	return "increment"
}

// fits reports whether the rule can be applied to values of a type.
func (r *rule) fits(t cells.Type) bool {
	if r.Appends {
		return t == cells.TypeBytes || t == cells.TypeString
	}
	return r.BigEndian && t == cells.TypeBytes || t == cells.TypeByte || t == cells.TypeI32 || t == cells.TypeI64
}

// Modified are the cells that the rules write to a row. newest is the newest cell of a
// column. The batch already named the row.
func Modified(ctx context.Context, at *clock.Clock, b *cf.Batch, info *catalog.Table, newest func(family, qualifier string) (cells.Cell, bool), m *write.ReadModifyWrite) (cs []cells.Cell, err error) {
	now, ok := m.Timestamp()
	if !ok {
		if now, err = at.NextOf(ctx, b); err != nil {
			return nil, err
		}
		now = now.RoundDown(m.Unit())
	}
	find := func(r *rule) cells.Cell {
		c, _ := newest(r.Family, r.Qualifier)
		c.Family, c.Qualifier, c.Timestamp = r.Family, r.Qualifier, max(c.Timestamp, now)
		return c
	}
	if rules := m.Rules(); len(rules) == 1 { // most often
		r := (*rule)(&rules[0])
		cs = []cells.Cell{find(r)}
		return cs, r.change(&cs[0], info)
	}
	written := map[columnName]cells.Cell{}
	for _, r := range joinAppends(m.Rules()) {
		col := columnName{r.Family, r.Qualifier}
		c, ok := written[col]
		if !ok {
			c = find(&r)
		}
		if err := r.change(&c, info); err != nil {
			return nil, err
		}
		written[col] = c
	}
	return inRowOrder(written), nil
}

// change makes the rule's result of the cell's value.
func (r *rule) change(c *cells.Cell, info *catalog.Table) error {
	f, err := info.Family(r.Family)
	if err == nil {
		c.Value, err = r.apply(c.Value, f.Type)
	}
	return err
}

type columnName struct{ family, qualifier string }

// joinAppends merges consecutive appends to a column into one rule: each append
// copies the column's value.
func joinAppends(rules []write.Rule) []rule {
	var joined []rule
	last := map[columnName]int{} // rule of a column
	for _, r := range rules {
		col := columnName{r.Family, r.Qualifier}
		if i, ok := last[col]; ok && r.Appends && joined[i].Appends {
			joined[i].Append = append(joined[i].Append, r.Append...)
			continue
		}
		r.Append = slices.Clip(r.Append) // the caller's
		last[col] = len(joined)
		joined = append(joined, rule(r))
	}
	return joined
}

func inRowOrder(written map[columnName]cells.Cell) []cells.Cell {
	var cs []cells.Cell
	for _, c := range written {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b cells.Cell) int {
		if order := strings.Compare(a.Family, b.Family); order != 0 {
			return order
		}
		return strings.Compare(a.Qualifier, b.Qualifier)
	})
	return cs
}

// apply is the rule's result for the newest value; the zero Value means that
// there is no value.
func (r *rule) apply(old cells.Value, declared cells.Type) (cells.Value, error) {
	typ := old.Type()
	switch {
	case typ != cells.TypeAny:
	case declared != cells.TypeAny:
		typ = declared
	default:
		typ = r.Absent
	}
	if !r.fits(typ) {
		return old, fault.Errorf(fault.FailedPrecondition, "%s:%s holds %s; cannot %s it", r.Family, r.Qualifier, typ, r.verb())
	}
	if r.Appends {
		return r.appendTo(old, typ)
	}
	if typ == cells.TypeBytes {
		return r.addToBytes(old)
	}
	return r.addTo(old, typ)
}

func (r *rule) appendTo(old cells.Value, typ cells.Type) (cells.Value, error) {
	if n := old.Len() + len(r.Append); n > cells.MaxValue {
		return old, fault.Errorf(fault.ResourceExhausted, "%s:%s: value would have %d bytes; it may have up to %d", r.Family, r.Qualifier, n, cells.MaxValue)
	}
	if typ == cells.TypeBytes {
		b, _ := old.AsBytes()
		return cells.Bytes(slices.Concat(b, r.Append)), nil
	}
	s, _ := old.AsString()
	v := cells.String(s + string(r.Append))
	if err := v.Check(); err != nil {
		return old, fault.Errorf(fault.InvalidArgument, "%s:%s: %w", r.Family, r.Qualifier, err)
	}
	return v, nil
}

func (r *rule) addToBytes(old cells.Value) (cells.Value, error) {
	b, ok := old.AsBytes()
	if ok && len(b) != 8 {
		return old, fault.Errorf(fault.FailedPrecondition, "%s:%s holds %d bytes; only a value of 8, a big-endian integer, can be incremented", r.Family, excerpt.Of(r.Qualifier), len(b))
	}
	var n uint64
	if ok {
		n = binary.BigEndian.Uint64(b)
	}
	return cells.Bytes(binary.BigEndian.AppendUint64(nil, n+uint64(r.Delta))), nil
}

func (r *rule) addTo(old cells.Value, typ cells.Type) (cells.Value, error) {
	n, _ := old.Int()
	sum := n + r.Delta
	v, fits := cells.Integer(typ, sum)
	if wraps := r.Delta > 0 && sum < n || r.Delta < 0 && sum > n; wraps || !fits {
		return old, fault.Errorf(fault.FailedPrecondition, "%s:%s: %d + %d is out of the range of %s", r.Family, r.Qualifier, n, r.Delta, typ)
	}
	return v, nil
}
