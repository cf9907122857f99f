package cftikv

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/fields"
)

// format is the version of the layout of keys and values. A store with another one is
// refused.
const format = 1

// A state is the families of a store at one moment. It is never changed.
type state struct {
	version  uint64 // grows with each change; two states with the same version are equal
	next     uint32 // the number of the next family
	catalog  uint64 // the version of the catalog
	log      uint64 // the log of changes holds the commits after this position; see logOff
	families map[string]family
}

// A family is the descriptor of a family.
type family struct {
	id    uint32 // of its cells
	born  uint32 // the number that it got at first
	epoch uint64 // of the cells that are written now
	drops drops
	// layers are the loads whose cells are not yet among the family's own, from the
	// oldest on.
	layers []layer
	// settled is the newest epoch of drops and layers that are no longer listed.
	settled uint64
}

// family looks a family up.
func (s *state) family(name string) (family, error) {
	f, ok := s.families[name]
	if !ok {
		return f, fmt.Errorf("family %s %w", name, cf.ErrNotExist)
	}
	return f, nil
}

func (s *state) names() []string { return slices.Sorted(maps.Keys(s.families)) }

// An edit is a change of the families.
type edit struct {
	state
	changed map[string]bool
	gone    []uint32 // the numbers of cells that nobody reads now
	begun   []uint32 // the numbers of loads that begin
	was     *state
}

func (s *state) edit() *edit {
	e := &edit{state: *s, changed: map[string]bool{}, was: s}
	e.version++
	e.families = maps.Clone(s.families)
	return e
}

// altered reports whether the edit changed anything.
func (e *edit) altered() bool {
	return len(e.changed) > 0 || e.log != e.was.log || e.catalog != e.was.catalog || len(e.begun) > 0
}

func (e *edit) create(name string) {
	if _, ok := e.families[name]; !ok {
		e.families[name] = family{id: e.next, born: e.next}
		e.changed[name] = true
		e.next++
	}
}

func (e *edit) remove(name string) {
	if f, ok := e.families[name]; ok {
		delete(e.families, name)
		e.changed[name] = true
		e.gone = append(e.gone, f.ids(everything)...)
	}
}

// drop hides the present cells of a family between two keys.
func (e *edit) drop(name, start, end string) {
	if start >= end {
		return
	}
	f := e.families[name]
	if !e.changed[name] { // all drops of one edit raise the epoch together
		f.epoch++
	}
	f.drops = f.drops.add(drop{start, end, f.epoch})
	e.families[name] = f
	e.changed[name] = true
}

// appendVersion encodes the value of the version key.
func (s *state) appendVersion(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, format), s.version)
	dst = binary.BigEndian.AppendUint32(dst, s.next)
	dst = binary.BigEndian.AppendUint64(dst, s.catalog)
	return binary.BigEndian.AppendUint64(dst, s.log)
}

func decodeVersion(value []byte) (*state, error) {
	if len(value) > 0 && value[0] > format {
		return nil, fmt.Errorf("it has format %d, written by a newer smolwc; this one reads format %d: %w", value[0], format, cf.ErrUnavailable)
	}
	if len(value) != 29 || value[0] != format {
		return nil, fmt.Errorf("version %x of the store: %w", value, cf.ErrCorrupt)
	}
	return &state{
		version:  binary.BigEndian.Uint64(value[1:]),
		next:     binary.BigEndian.Uint32(value[9:]),
		catalog:  binary.BigEndian.Uint64(value[13:]),
		log:      binary.BigEndian.Uint64(value[21:]),
		families: map[string]family{},
	}, nil
}

// append encodes a descriptor.
func (f *family) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, f.id)
	dst = binary.BigEndian.AppendUint32(dst, f.born)
	dst = binary.AppendUvarint(dst, f.epoch)
	dst = binary.AppendUvarint(dst, f.settled)
	dst = binary.AppendUvarint(dst, uint64(len(f.layers)))
	for _, l := range f.layers {
		dst = binary.BigEndian.AppendUint32(dst, l.id)
		dst = appendText(appendText(binary.AppendUvarint(dst, l.epoch), l.start), l.end)
	}
	for _, d := range f.drops {
		dst = appendText(appendText(dst, d.start), d.end)
		dst = binary.AppendUvarint(dst, d.epoch)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func decodeFamily(name string, value []byte) (f family, err error) {
	r := fields.Reader{Rest: value}
	f.id, f.born = r.Uint32(), r.Uint32()
	f.epoch, f.settled = r.Uvarint(), r.Uvarint()
	for n := r.Uvarint(); !r.Bad && n > 0; n-- {
		f.layers = append(f.layers, layer{r.Uint32(), r.Uvarint(), span{string(r.Text()), string(r.Text())}})
	}
	for !r.Bad && len(r.Rest) > 0 {
		f.drops = append(f.drops, drop{string(r.Text()), string(r.Text()), r.Uvarint()})
	}
	if r.Bad || !f.drops.valid(f.epoch) || f.settled > f.epoch || !validLayers(f.layers, f.epoch) {
		return family{}, fmt.Errorf("descriptor %x of family %s: %w", value, name, cf.ErrCorrupt)
	}
	return f, nil
}

func validLayers(layers []layer, epoch uint64) bool {
	last := uint64(0)
	for _, l := range layers {
		if l.epoch <= last || l.epoch > epoch || l.start >= l.end {
			return false
		}
		last = l.epoch
	}
	return true
}

// keyspace makes the keys of one store in TiKV.
type keyspace struct{ prefix string }

func newKeyspace(name string) (keyspace, error) {
	if name == "" || len(name) > 200 || strings.Contains(name, "/") {
		return keyspace{}, fmt.Errorf("the name of a store has 1 to 200 bytes and no slash, not %.210q", name)
	}
	return keyspace{"smolwc/" + name + "/"}, nil
}

func (k keyspace) version() []byte           { return []byte(k.prefix + "mv") }
func (k keyspace) family(name string) []byte { return []byte(k.prefix + "mf" + name) }
func (k keyspace) meta(key string) []byte    { return []byte(k.prefix + "mc" + key) }

// entries is the prefix of one shard of the log of changes.
func (k keyspace) entries(shard byte) []byte { return append([]byte(k.prefix+"c"), shard) }

func (k keyspace) lease(job string) []byte  { return []byte(k.prefix + "ml" + job) }
func (k keyspace) garbages() []byte         { return []byte(k.prefix + "mg") }
func (k keyspace) garbage(id uint32) []byte { return binary.BigEndian.AppendUint32(k.garbages(), id) }

// swept is the key of the time when the expired cells of a family were last deleted.
func (k keyspace) swept(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte(k.prefix+"mx"), id)
}

// sentinelsSwept is the key of the time when old sentinels were last deleted.
func (k keyspace) sentinelsSwept() []byte { return []byte(k.prefix + "mt") }

// allSentinels is the prefix of the sentinels of all rows.
func (k keyspace) allSentinels() []byte { return []byte(k.prefix + "l") }

// cells is the prefix of a family's cells.
func (k keyspace) cells(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte(k.prefix+"d"), id)
}

func (k keyspace) cell(id uint32, key []byte) []byte { return append(k.cells(id), key...) }

// sentinel is the key of a row's sentinel. The bytes of the space and of the row are
// escaped, as in the key of a cell.
func (k keyspace) sentinel(r cf.RowID) []byte {
	return cf.AppendRowPrefix(k.space(r.Space), r.Row)
}

func (k keyspace) space(name string) []byte {
	return cf.AppendRowPrefix(k.allSentinels(), name)
}

// sentinels are the bounds of the sentinels of a range of rows.
func (k keyspace) sentinels(space string, rows cf.Range) (start, end []byte) {
	return cf.AppendRowBound(k.space(space), rows.Start), rows.AppendEnd(k.space(space))
}

// after is the first key behind all keys with a prefix. The prefixes of a keyspace do
// not end in ff, apart from numbers of families.
func after(prefix []byte) []byte {
	end, _ := cf.PrefixSuccessor(string(prefix))
	return []byte(end)
}
