package regions_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/tikv/client-go/v2/txnkv"
)

var pd = flag.String("pd", "", "the addresses of PD, with commas, of a cluster to test on")

// TestOnACluster reads from processes. It writes below a prefix of its own, which it
// leaves behind.
func TestOnACluster(t *testing.T) {
	if *pd == "" {
		t.Skip("needs a cluster: -pd 127.0.0.1:2379")
	}
	client, err := txnkv.NewClient(strings.Split(*pd, ","))
	ok(t, err)
	t.Cleanup(func() { client.Close() })
	c := &cluster{tester: t, store: client.KVStore}
	prefix := fmt.Sprintf("smolwc-test/%d/", time.Now().UnixNano())
	const keys = 20_000
	for i := 0; i < keys; i += 2000 {
		var pairs []string
		for j := i; j < i+2000; j++ {
			pairs = append(pairs, prefix+number(j), number(j))
		}
		c.put(pairs...)
	}
	half := dead{c, c.now(), prefix + "a"}
	half.prewrite(0, prefix+"a", "a", prefix+"b", "b")
	half.commit(c.now(), prefix+"a")
	lost := dead{c, c.now(), prefix + "c"}
	lost.prewrite(0, prefix+"c", "c")
	running := dead{c, c.now(), prefix + number(7)}
	running.prewrite(1_000_000, prefix+number(7), "changed", prefix+number(8), "changed")

	want := keys + 2 // with a and b
	o := regions.Options{At: c.now(), Prefix: []byte(prefix)}
	for name, read := range map[string]func(tester, *regions.Iterator) []string{"forward": values, "backward": backwards} {
		it := regions.New(c.store, o)
		got := read(t, it)
		it.Close()
		if len(got) != want || got[7] != number(7) || got[8] != number(8) || got[keys+1] != "b" {
			t.Errorf("%s: %d values", name, len(got))
		}
	}
	o.KeysOnly = true
	it := regions.New(c.store, o)
	defer it.Close()
	it.Seek(t.Context(), nil)
	if got := walk(t, it); len(got) != want {
		t.Errorf("keys only: %d keys", len(got))
	}
	found, err := regions.Get(t.Context(), c.store, o, []byte("b"), []byte("c"), []byte(number(8)))
	ok(t, err)
	if got := fmt.Sprintf("%q", found); got != fmt.Sprintf(`["b" "" %q]`, number(8)) {
		t.Errorf("Get: %s", got)
	}
}
