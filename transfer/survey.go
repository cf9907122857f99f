package transfer

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// Bounds of a survey. A hash of 8 bytes is kept for each of the first fields of each record,
// so a survey takes at most 32 MiB of memory.
const (
	surveyedBytes   = 32 << 20 // of a file's text
	surveyedRecords = 1 << 18
	surveyedFields  = 16
)

// naWords are the texts that files write for a missing value.
var naWords = [...]string{"NA", "N/A", "n/a", "NULL", "null", "None", "NaN", "nan", `\N`, "-", "?"}

// A survey describes the records of files: those that a key and types are proposed for.
type survey struct {
	na     string // the text that is no value; "": none
	comma  bool   // numbers have a decimal comma
	json   bool   // objects and lists are nestedText
	fields []surveyed
	hashes []uint64 // of the first fields of each record
	width  int      // fields with hashes
	n      int      // records
	dups   [][2]int // records that some set of fields does not tell apart
	seed   maphash.Seed
	seen   map[uint64]int
}

// A surveyed field.
type surveyed struct {
	all     fits   // of all texts
	rest    fits   // of those besides naWords
	words   uint32 // the naWords that occur, a bit each
	blank   bool   // some record has no text, or an object
	nested  bool   // some record has an object or a list
	longest int    // bytes of a text
}

// survey reads the records of the files, as far as the bounds allow; of a stream, those that
// were seen.
func (s *Spec) survey(ctx context.Context, f format, seen sight) (*survey, error) {
	v := &survey{na: s.NA, comma: seen.Decimal == ",", json: f.json, fields: make([]surveyed, len(seen.names)), seed: maphash.MakeSeed(), seen: map[uint64]int{}}
	v.width = min(len(seen.names), surveyedFields)
	if f.live || s.In != nil {
		for _, row := range seen.rows {
			v.add(row)
		}
		return v, ctx.Err()
	}
	budget := surveyedBytes
	for _, path := range s.paths() {
		if err := s.surveyFile(ctx, v, f.of(path, nil), path, seen.names, &budget); err != nil {
			return nil, err
		}
	}
	v.chooseNA()
	return v, nil
}

// surveyFile reads one of the files. Bad lines are for the import to report.
func (s *Spec) surveyFile(ctx context.Context, v *survey, f format, path string, names []string, budget *int) error {
	src, err := openSource(ctx, path, nil, f, nil)
	if err != nil {
		return err
	}
	defer src.close()
	next, err := s.rowsOf(path, src, f, names)
	if err != nil {
		return err
	}
	for n := 0; v.n < surveyedRecords && *budget > 0; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		row, err := next()
		if _, bad := err.(*LineError); bad {
			*budget--
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, text := range row {
			*budget -= len(text) + 1
		}
		v.add(row)
	}
	return nil
}

// rowsOf returns a function that reads the texts of the next record, in the order of names.
func (s *Spec) rowsOf(path string, src *source, f format, names []string) (next func() ([]string, error), err error) {
	if f.json {
		j, err := newJSONReader(path, src.text, &fieldNames{})
		members := newMembers(names)
		return func() ([]string, error) {
			line, err := j.readLine()
			if err != nil {
				return nil, err
			}
			row, bad := members.row(strings.TrimSpace(string(line)), &record{file: path, line: j.line})
			if bad != nil {
				return nil, bad
			}
			return row[:min(len(row), len(names))], nil
		}, err
	}
	records, all, err := openAll(path, src, f, s.Dialect)
	if err != nil {
		return nil, err
	}
	places := make([]int, len(names)) // another file may have another order
	for i, name := range names {
		places[i] = slices.Index(all, name)
	}
	rec, row := &record{file: path, names: all, fields: make([]field, len(all))}, make([]string, len(names))
	return func() ([]string, error) {
		if err := records.next(rec); err != nil {
			return nil, err
		}
		for i, at := range places {
			if row[i] = ""; at >= 0 && rec.fields[at].state != absent {
				row[i] = rec.fields[at].text
			}
		}
		return row, nil
	}, nil
}

// add notes a record; fields that it does not have are blank.
func (v *survey) add(row []string) {
	for i := range v.fields {
		text := ""
		if i < len(row) {
			text = row[i]
		}
		v.fields[i].add(text, v.comma, v.json)
		if i < v.width {
			v.hashes = append(v.hashes, maphash.String(v.seed, text))
		}
	}
	v.n++
}

func (f *surveyed) add(text string, comma, json bool) {
	f.nested = f.nested || json && text == nestedText
	f.blank = f.blank || f.nested || strings.TrimSpace(text) == ""
	if text == "" {
		return
	}
	f.longest = max(f.longest, len(text))
	word := slices.Index(naWords[:], text)
	if word >= 0 {
		f.words |= 1 << word
	}
	if comma {
		text, _ = withPoint(text)
	}
	if f.all.add(text); word < 0 {
		f.rest.add(text)
	}
}

// chooseNA finds the text that makes the most fields numbers where it is left out.
func (v *survey) chooseNA() {
	if v.na != "" {
		return
	}
	var votes [len(naWords)]int
	most := 0
	for _, f := range v.fields {
		for word := range votes {
			if f.words == 1<<word && f.rest.seen && !f.all.number() && f.rest.number() {
				votes[word]++
				most = max(most, votes[word])
			}
		}
	}
	if most > 0 {
		v.na = naWords[slices.Index(votes[:], most)]
	}
}

// misses reports whether records have no value for the field.
func (v *survey) misses(f *surveyed) bool { return f.blank || v.hasNA(f) }

// hasNA reports whether the text that is no value occurs in the field.
func (v *survey) hasNA(f *surveyed) bool {
	word := slices.Index(naWords[:], v.na)
	return word >= 0 && f.words&(1<<word) != 0
}

// typeOf is the narrowest type that keeps the values of a field.
func (v *survey) typeOf(i int) cells.Type {
	f := &v.fields[i]
	of := f.all
	if word := slices.Index(naWords[:], v.na); word >= 0 && f.words == 1<<word {
		of = f.rest
	}
	if !of.seen {
		return cells.TypeString
	}
	typ := of.lossless()
	if near, _ := of.near(); near != cells.TypeAny && (v.comma || near == cells.TypeF64) {
		typ = near
	}
	if typ == cells.TypeBytes {
		return cells.TypeString
	}
	return typ
}

// keyFields are the indices of fields that tell all records apart, as few as there are: one,
// else two or three, else those that are left when the others are taken away one by one.
// Without such fields it is the first one, and unique is false, as after the end of the context.
func (v *survey) keyFields(ctx context.Context, names []string) (fields []int, unique bool) {
	var able, measures []int // fields that a key can have
	for i := range names[:v.width] {
		switch f := &v.fields[i]; {
		case v.misses(f) || f.longest > cells.MaxRowKey/surveyedFields:
		case v.typeOf(i) == cells.TypeF64 || v.typeOf(i) == cells.TypeBool:
			measures = append(measures, i)
		default:
			able = append(able, i)
		}
	}
	able = append(able, measures...)
	if one := v.oneField(ctx, names, able); one >= 0 {
		return []int{one}, true
	}
	if len(able) == 0 || !v.unique(ctx, able) {
		return []int{0}, false
	}
	for a := range able {
		for b := a + 1; b < len(able); b++ {
			if two := []int{able[a], able[b]}; v.unique(ctx, two) {
				return sorted(two), true
			}
		}
	}
	for a := range able {
		for b := a + 1; b < len(able); b++ {
			for c := b + 1; c < len(able); c++ {
				if three := []int{able[a], able[b], able[c]}; v.unique(ctx, three) {
					return sorted(three), true
				}
			}
		}
	}
	for i := len(able) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(able), i, i+1); v.unique(ctx, fewer) {
			able = fewer
		}
	}
	return sorted(able), true
}

func sorted(fields []int) []int {
	slices.Sort(fields)
	return fields
}

// oneField is the likeliest key of the fields that tell all records apart, or -1.
func (v *survey) oneField(ctx context.Context, names []string, able []int) int {
	best, most := -1, -100
	for _, i := range able {
		if !v.unique(ctx, []int{i}) {
			continue
		}
		score := 10 - min(i, 10)
		switch name := strings.ToLower(names[i]); {
		case slices.Contains([]string{"id", "key", "row", "uuid", "guid", "_id", "rowkey", "row_key"}, name):
			score += 40
		case strings.HasSuffix(name, "id") || strings.HasSuffix(name, "key") || strings.HasSuffix(name, "code"):
			score += 20
		}
		if typ := v.typeOf(i); typ == cells.TypeF64 || typ == cells.TypeBool {
			score -= 15
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}

// mostDups bounds the pairs that are kept to refuse sets of fields quickly.
const mostDups = 256

// unique reports whether no two records have the same values of the fields. After the end of
// the context it is false.
func (v *survey) unique(ctx context.Context, fields []int) bool {
	if ctx.Err() != nil {
		return false
	}
	for _, pair := range v.dups {
		if !slices.ContainsFunc(fields, func(f int) bool { return v.hash(pair[0], f) != v.hash(pair[1], f) }) {
			return false
		}
	}
	clear(v.seen)
	for n := range v.n {
		all := uint64(0)
		for _, f := range fields {
			all = (all ^ v.hash(n, f)) * 0x9e3779b97f4a7c15
			all ^= all >> 29
		}
		if first, again := v.seen[all]; again {
			if len(v.dups) < mostDups {
				v.dups = append(v.dups, [2]int{first, n})
			}
			return false
		}
		v.seen[all] = n
	}
	return true
}

func (v *survey) hash(record, field int) uint64 { return v.hashes[record*v.width+field] }

// members are the names of objects, in the order in which they were met first.
type members struct {
	names []string
	index map[string]int
}

func newMembers(names []string) *members {
	m := &members{index: map[string]int{}}
	for i, name := range names {
		m.names, m.index[name] = append(m.names, name), i
	}
	return m
}

// nestedText stands for an object or a list.
const nestedText = "…"

// row returns the values of an object, at the places of their names.
func (m *members) row(raw string, rec *record) (row []string, bad *LineError) {
	if bad := checkObject(raw, rec); bad != nil {
		return nil, bad
	}
	row = make([]string, len(m.names))
	eachMember(raw, func(name, value string) {
		i, known := m.index[name]
		if !known {
			i = len(m.names)
			m.index[name] = i
			m.names, row = append(m.names, name), append(row, "")
		}
		f, _ := fieldOf(value)
		if row[i] = f.text; f.state == nested {
			row[i] = nestedText
		}
	})
	return row, nil
}
