package peers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/bench/workload"
)

// All peers order, bound and replace keys in the same way.
func TestPeersAreOrdered(t *testing.T) {
	for _, p := range All() {
		if p.Open == nil {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			dir := t.TempDir()
			kv, err := p.Open(dir, workload.PeerOptions{Memory: 64 << 20, Sync: true})
			if err != nil {
				t.Fatal(err)
			}
			keys := []string{"a\x00", "c\x00", "b\x00", "b\x00x", "b\x00"}
			if err := kv.Write(len(keys), func(i int) ([]byte, []byte) { return []byte(keys[i]), fmt.Append(nil, i) }); err != nil {
				t.Fatal(err)
			}
			if err := kv.Compact(); err != nil {
				t.Fatal(err)
			}
			if err := kv.Close(); err != nil {
				t.Fatal(err)
			}
			if kv, err = p.Open(dir, workload.PeerOptions{Memory: 64 << 20}); err != nil {
				t.Fatal(err)
			}
			defer kv.Close()
			var got []string
			collect := func(key, value []byte) bool {
				got = append(got, fmt.Sprintf("%q=%s", key, value))
				return len(got) < 3
			}
			for _, c := range []struct {
				what string
				do   func() error
				want string
			}{
				{"scan", func() error { return kv.Scan(nil, nil, collect) }, `"a\x00"=0 "b\x00"=4 "b\x00x"=3`},
				{"bounded scan", func() error { return kv.Scan([]byte("b"), []byte("b\x00x"), collect) }, `"b\x00"=4`},
				{"row", func() error { return kv.Row([]byte("b\x00"), collect) }, `"b\x00"=4 "b\x00x"=3`},
				{"get", func() error { return kv.Get([]byte("c\x00"), func(v []byte) { collect([]byte("c"), v) }) }, `"c"=1`},
				{"get of nothing", func() error { return kv.Get([]byte("d"), func(v []byte) { collect([]byte("d"), v) }) }, ``},
			} {
				got = nil
				if err := c.do(); err != nil {
					t.Fatalf("%s: %v", c.what, err)
				}
				if s := strings.Join(got, " "); s != c.want {
					t.Errorf("%s: %s, want %s", c.what, s, c.want)
				}
			}
		})
	}
}
