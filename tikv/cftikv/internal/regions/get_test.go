package regions_test

import (
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

func TestGet(t *testing.T) {
	c := newCluster(t, 1)
	c.put("p/a", "1", "p/b", "2", "p/c", "3")
	c.split("p/b")
	c.split("p/c")
	o := regions.Options{At: c.now(), Prefix: []byte("p/"), NoFillCache: true}
	c.put("p/a", "too late")
	for _, test := range []struct {
		keys []string
		want string
	}{
		{nil, "[]"},
		{[]string{"a"}, `["1"]`},
		{[]string{"none"}, `[""]`},
		{[]string{"c", "a", "none", "a", "b"}, `["3" "1" "" "1" "2"]`},
	} {
		var keys [][]byte
		for _, k := range test.keys {
			keys = append(keys, []byte(k))
		}
		values, err := regions.Get(t.Context(), c.store, o, keys...)
		ok(t, err)
		if got := fmt.Sprintf("%q", values); got != test.want {
			t.Errorf("%q: %s, and not %s", test.keys, got, test.want)
		}
		for i, v := range values {
			if (v == nil) != (test.keys[i] == "none") {
				t.Errorf("%q has the value %v", test.keys[i], v)
			}
		}
	}
}

func TestGetResolvesLocks(t *testing.T) {
	c := newCluster(t, 1)
	c.put("p/a", "old", "p/b", "old")
	lost := dead{c, c.now(), "p/a"}
	lost.prewrite(0, "p/a", "new")
	half := dead{c, c.now(), "p/b"}
	half.prewrite(0, "p/b", "new", "p/c", "new")
	half.commit(c.now(), "p/b")
	values, err := regions.Get(t.Context(), c.store, regions.Options{At: c.now()}, []byte("p/a"), []byte("p/b"), []byte("p/c"))
	ok(t, err)
	if got := fmt.Sprintf("%q", values); got != `["old" "new" "new"]` {
		t.Error(got)
	}
}
