// Package facts keeps the facts of the control and all regions: which tenant a token
// belongs to, in which region a shard lives, and which columns are the key of a table.
//
// Each fact carries a version. A fact that was removed leaves a row with its version,
// so that an earlier version, which comes late, does not bring it back.
package facts

import (
	"context"
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// A Kind says what a fact is about.
type Kind string

// The kinds of facts.
const (
	Token Kind = "token" // its key is the hash of the token, its value the tenant
	Shard Kind = "shard" // tenant and shard; the region
	Table Kind = "table" // tenant and table; the columns of the key
)

// A Fact is the value of a key.
type Fact struct {
	Kind    Kind
	Key     []string
	Value   []string
	Version int64
	Removed bool
}

// The table of facts is in the database of each region and of the control. The row key is
// the tuple of the kind and a tuple with the token's hash, or tenant and name. The value, one
// cell without a qualifier at the timestamp 0, is the tuple of version, whether the fact was
// removed, and a tuple with the tenant, the region or the key's columns.
const (
	table  = "facts"
	family = "f"
)

// Schema is the table of facts.
var Schema = schema.Table{Name: table, Families: []schema.Family{{Name: family}}}

// A Store keeps the facts of a database.
type Store struct{ DB *query.DB }

// Get is a fact that was not removed.
func (s Store) Get(ctx context.Context, kind Kind, key ...string) (f Fact, found bool, err error) {
	k, err := rowKey(kind, key)
	if err != nil {
		return Fact{}, false, err
	}
	row, err := s.DB.Table(table).ReadRow(ctx, k, read.Versions(1))
	if err != nil || row.Len() == 0 {
		return Fact{}, false, err
	}
	value, _ := row.Bytes(family, "")
	f, err = decode(k, string(value))
	return f, err == nil && !f.Removed, err
}

// Find is a fact in a transaction, which may have been removed. The commit depends on it.
func (s Store) Find(ctx context.Context, tx *query.Tx, kind Kind, key ...string) (f Fact, found bool, err error) {
	k, err := rowKey(kind, key)
	if err != nil {
		return Fact{}, false, err
	}
	value, found, err := s.view(ctx, tx).Get(k)
	if err != nil || !found {
		return Fact{}, false, err
	}
	f, err = decode(k, value)
	return f, err == nil, err
}

// Put writes a fact in a transaction, whatever there is.
func (s Store) Put(ctx context.Context, tx *query.Tx, f Fact) error {
	k, err := rowKey(f.Kind, f.Key)
	if err != nil {
		return err
	}
	value, err := tuple.Pack(f.Version, f.Removed, texts(f.Value))
	if err != nil {
		return err
	}
	return s.view(ctx, tx).Set(k, string(value))
}

// Apply writes facts, each unless there is one of the same version or a later one.
func (s Store) Apply(ctx context.Context, all ...Fact) error {
	return s.DB.Update(ctx, func(tx *query.Tx) error {
		for _, f := range all {
			old, found, err := s.Find(ctx, tx, f.Kind, f.Key...)
			if err == nil && (!found || old.Version < f.Version) {
				err = s.Put(ctx, tx, f)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// completeKey is the row of a database that once held all facts. It is not a row key of
// facts.
const completeKey = "\xff"

// SetComplete records that the database once held all facts: what it lacks now is on its
// way, or does not exist.
func (s Store) SetComplete(ctx context.Context) error {
	return s.DB.Update(ctx, func(tx *query.Tx) error { return s.view(ctx, tx).Set(completeKey, completeKey) })
}

// Complete reports whether SetComplete was called.
func (s Store) Complete(ctx context.Context) (bool, error) {
	row, err := s.DB.Table(table).ReadRow(ctx, completeKey, read.Versions(1))
	return row.Len() > 0, err
}

// After are facts in the order of their keys, at most n, with those that were removed.
// They begin after the row key, which may be "", and end is the last one's.
func (s Store) After(ctx context.Context, tx *query.Tx, after string, n int) (all []Fact, end string, err error) {
	v := s.view(ctx, tx)
	for e, err := range v.PeekAll(read.Range(after+"\x00", ""), n) {
		if err != nil {
			return nil, "", err
		}
		f, err := decode(e.Key, e.Value)
		if err != nil {
			return nil, "", err
		}
		all, end = append(all, f), e.Key
	}
	return all, end, nil
}

func (s Store) view(ctx context.Context, tx *query.Tx) *rowmap.View {
	return &rowmap.View{Map: rowmap.Map{Table: table, Family: family}, Ctx: ctx, Tx: tx}
}

func rowKey(kind Kind, key []string) (string, error) {
	b, err := tuple.Pack(string(kind), texts(key))
	return string(b), err
}

func texts(names []string) tuple.Tuple {
	t := make(tuple.Tuple, len(names))
	for i, name := range names {
		t[i] = name
	}
	return t
}

func decode(key, value string) (f Fact, err error) {
	k, err := tuple.Unpack([]byte(key))
	if err != nil {
		return Fact{}, damaged(key, err)
	}
	v, err := tuple.Unpack([]byte(value))
	if err != nil {
		return Fact{}, damaged(key, err)
	}
	ok := len(k) == 2 && len(v) == 3
	if ok {
		var kind string
		var kindOK, keyOK, versionOK, removedOK, valueOK bool
		kind, kindOK = k[0].(string)
		f.Kind = Kind(kind)
		f.Key, keyOK = names(k[1])
		f.Version, versionOK = v[0].(int64)
		f.Removed, removedOK = v[1].(bool)
		f.Value, valueOK = names(v[2])
		ok = kindOK && keyOK && versionOK && removedOK && valueOK && f.sound()
	}
	if !ok {
		return Fact{}, damaged(key, fmt.Errorf("it is not a fact"))
	}
	return f, nil
}

// sound reports whether a fact consists of as many parts as its kind needs.
func (f Fact) sound() bool {
	keys := map[Kind]int{Token: 1, Shard: 2, Table: 2}
	return len(f.Key) == keys[f.Kind] && len(f.Key) > 0 && len(f.Value) > 0 && !slices.Contains(f.Key, "")
}

func names(v any) ([]string, bool) {
	t, ok := v.(tuple.Tuple)
	all := make([]string, len(t))
	for i, e := range t {
		s, isText := e.(string)
		all[i], ok = s, ok && isText
	}
	return all, ok
}

func damaged(key string, err error) error {
	return &query.Error{Op: "read fact", Table: table, Row: key, Kind: query.KindCorruption, Err: err}
}
