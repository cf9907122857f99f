package regions_test

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"pgregory.net/rapid"
)

// TestIteratorMatchesASortedSlice moves at random over random keys, while regions
// split, merge and change their leaders, and requests fail.
func TestIteratorMatchesASortedSlice(t *testing.T) {
	withoutSleep(t)
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t, 3)
		c.put("o", "before", "q", "behind")
		var keys []string
		for _, k := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9999), 0, 400, rapid.ID).Draw(t, "keys") {
			keys = append(keys, fmt.Sprintf("%04d", k))
			c.put("p/"+keys[len(keys)-1], "v"+keys[len(keys)-1])
		}
		slices.Sort(keys)
		m := &model{cluster: c, keys: keys, at: len(keys)}
		m.it = regions.New(c.store, regions.Options{At: c.now(), Prefix: []byte("p/"), Ahead: rapid.IntRange(-1, 3).Draw(t, "ahead")})
		m.it.SetSizes(rapid.IntRange(1, 16).Draw(t, "first"), rapid.IntRange(16, 64).Draw(t, "most"), 16)
		defer m.it.Close()
		c.put("p/5", "too late")
		t.Repeat(map[string]func(*rapid.T){
			"":           m.check,
			"seek":       func(t *rapid.T) { m.seek(key(t)) },
			"seekBefore": func(t *rapid.T) { m.seekBefore(key(t)) },
			"back": func(*rapid.T) {
				if m.it.Valid() {
					m.seekBefore(string(m.it.Key()))
				}
			},
			"next": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					m.next()
				}
			},
			"split": func(t *rapid.T) { c.split("p/" + key(t)) },
			"merge": func(t *rapid.T) { c.merge("p/" + key(t)) },
			"lead":  func(t *rapid.T) { c.lead("p/"+key(t), rapid.IntRange(0, 2).Draw(t, "store")) },
			"fail":  func(*rapid.T) { c.wire.failOnce(errors.New("connection refused")) },
		})
	})
}

func key(t *rapid.T) string { return fmt.Sprintf("%04d", rapid.IntRange(0, 10_000).Draw(t, "key")) }

// A model is an iterator beside the sorted keys that it walks over.
type model struct {
	*cluster
	it   *regions.Iterator
	keys []string
	at   int // len(keys) is no key
}

func (m *model) seek(key string) {
	m.it.Seek(m.Context(), []byte(key))
	m.at = sort.SearchStrings(m.keys, key)
}

func (m *model) seekBefore(key string) {
	m.it.SeekBefore(m.Context(), []byte(key))
	if m.at = sort.SearchStrings(m.keys, key) - 1; m.at < 0 {
		m.at = len(m.keys)
	}
}

func (m *model) next() {
	m.it.Next(m.Context())
	m.at = min(m.at+1, len(m.keys))
}

func (m *model) check(t *rapid.T) {
	ok(t, m.it.Err())
	if m.it.Valid() != (m.at < len(m.keys)) {
		t.Fatalf("valid is %v at %d of %d keys", m.it.Valid(), m.at, len(m.keys))
	}
	if !m.it.Valid() {
		return
	}
	want, got := m.keys[m.at], string(m.it.Key())
	if got != want || !strings.HasSuffix(string(m.it.Value()), want) {
		t.Fatalf("at %q = %q, and not at %q", got, m.it.Value(), want)
	}
}
