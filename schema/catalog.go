package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/smolwc/smolwc/cells"
)

// ErrCatalog is the error, found with errors.Is, of bytes that are not a catalog
// entry of this version: damaged, or written by a newer version.
var ErrCatalog = errors.New("the catalog entry is damaged, or was written by a newer version")

// The entry of a table in the catalog is one line of JSON:
//
//	{"name":"fleet","families":[{"name":"meta","gc":{"max_versions":1}},{"name":"time","type":"i32"}]}
//
// The names of its fields are on disk.
type catalogTable struct {
	Name      string          `json:"name"`
	Retention string          `json:"retention,omitempty"`     // "" is exact
	KeyFormat string          `json:"key_format,omitempty"`    // "" is plain
	Changes   string          `json:"change_stream,omitempty"` // as ParseAge reads it; "" is no change stream
	Families  []catalogFamily `json:"families"`
}

type catalogFamily struct {
	Name      string         `json:"name"`
	Type      string         `json:"type,omitempty"` // "" is any
	Aggregate string         `json:"aggregate,omitempty"`
	GC        *catalogRule   `json:"gc,omitempty"` // nil keeps everything
	Tuning    *catalogTuning `json:"tuning,omitempty"`
}

type catalogRule struct {
	MaxVersions int            `json:"max_versions,omitempty"`
	MaxAge      string         `json:"max_age,omitempty"` // as ParseAge reads it
	Any         []*catalogRule `json:"any,omitempty"`
	All         []*catalogRule `json:"all,omitempty"`
}

// MarshalCatalog is the catalog entry of t, one line of JSON. A table that is
// not valid is an error, an [*Errors].
func (t *Table) MarshalCatalog() ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	c := catalogTable{
		Name: t.Name, Retention: nameUnlessZero(t.Retention), KeyFormat: nameUnlessZero(t.KeyFormat), Changes: ageUnlessZero(t.ChangeStream),
		Families: []catalogFamily{},
	}
	for _, f := range t.Families {
		cf := catalogFamily{Name: f.Name, Type: nameUnlessZero(f.Type), Aggregate: nameUnlessZero(f.Aggregate), GC: toCatalog(f.GC)}
		if f.Tuning != (Tuning{}) {
			cf.Tuning = new(catalogTuning(f.Tuning))
		}
		c.Families = append(c.Families, cf)
	}
	return json.Marshal(c)
}

// nameUnlessZero is the name of a value, or "" for the zero value, which is not written.
func nameUnlessZero[T interface {
	comparable
	fmt.Stringer
}](v T) string {
	if v == *new(T) {
		return ""
	}
	return v.String()
}

func ageUnlessZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return FormatAge(d)
}

// unlessEmpty parses the text of a field; no text is the zero value.
func unlessEmpty[T any](to *T, text string, parse func(string) (T, error)) (err error) {
	if text != "" {
		*to, err = parse(text)
	}
	return err
}

// UnmarshalCatalog reads the entry that [Table.MarshalCatalog] wrote. An unknown field,
// anything after the entry and an invalid table are errors that match [ErrCatalog]. It
// never panics, whatever the bytes are.
func UnmarshalCatalog(b []byte) (*Table, error) {
	t, err := unmarshalCatalog(b)
	if err == nil {
		err = t.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	return t, nil
}

func unmarshalCatalog(b []byte) (*Table, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var c catalogTable
	if err := dec.Decode(&c); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the entry at byte %d", dec.InputOffset())
	}
	t := &Table{Name: c.Name}
	err := cmp.Or(unlessEmpty(&t.Retention, c.Retention, ParseEnforcement), unlessEmpty(&t.KeyFormat, c.KeyFormat, ParseKeyFormat), unlessEmpty(&t.ChangeStream, c.Changes, ParseAge))
	if err != nil {
		return nil, err
	}
	for _, f := range c.Families {
		family, err := f.family()
		if err != nil {
			return nil, fmt.Errorf("family %q: %w", f.Name, err)
		}
		t.Families = append(t.Families, family)
	}
	return t, nil
}

func (c catalogFamily) family() (f Family, err error) {
	f.Name = c.Name
	if err := cmp.Or(unlessEmpty(&f.Type, c.Type, cells.ParseType), unlessEmpty(&f.Aggregate, c.Aggregate, ParseAggregate)); err != nil {
		return f, err
	}
	if c.Tuning != nil {
		f.Tuning = Tuning(*c.Tuning)
	}
	f.GC, err = c.GC.rule()
	return f, err
}

func toCatalog(r *Rule) *catalogRule {
	if r == nil {
		return nil
	}
	c := &catalogRule{MaxVersions: r.MaxVersions, MaxAge: ageUnlessZero(r.MaxAge)}
	for _, sub := range r.Any {
		c.Any = append(c.Any, toCatalog(sub))
	}
	for _, sub := range r.All {
		c.All = append(c.All, toCatalog(sub))
	}
	return c
}

// rule is the rule of a family; a null among the sub-rules stays nil, and Validate
// reports it.
func (c *catalogRule) rule() (r *Rule, err error) {
	if c == nil {
		return nil, nil
	}
	r = &Rule{MaxVersions: c.MaxVersions}
	if err := unlessEmpty(&r.MaxAge, c.MaxAge, ParseAge); err != nil {
		return nil, err
	}
	if r.Any, err = rulesOf(c.Any); err != nil {
		return nil, err
	}
	r.All, err = rulesOf(c.All)
	return r, err
}

func rulesOf(cs []*catalogRule) ([]*Rule, error) {
	var rules []*Rule
	for _, c := range cs {
		r, err := c.rule()
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}
