package cftikv_test

import (
	"errors"
	"flag"
	"maps"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

var onCluster = flag.String("url", "", "a URL of a store to test on, which is left behind")

// The janitor works with a real PD, and stores open by URL.
func TestOnACluster(t *testing.T) {
	if *onCluster == "" {
		t.Skip("needs a cluster: -url tikv://127.0.0.1:2379/test")
	}
	s, err := cftikv.OpenURL(t.Context(), *onCluster, cftikv.Options{})
	must(t, err)
	all := fill(t, s, 10)
	second, err := cftikv.OpenURL(t.Context(), *onCluster, cftikv.Options{MustExist: true})
	must(t, err)
	if got := values(t, second, nil, "f"); !maps.Equal(got, all) {
		t.Errorf("a second process reads %q, want %q", got, all)
	}
	must(t, second.DropFamily(t.Context(), "f"))
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	j, err := s.Janitor(t.Context())
	must(t, err)
	if _, err := second.Janitor(t.Context()); !errors.Is(err, cf.ErrBusy) {
		t.Errorf("a second janitor: %v", err)
	}
	must(t, s.Protect(t.Context(), cftikv.ProtectAfter))
	for range 2 {
		must(t, j.Round())
		j.Wait()
	}
	snap.Close()
	must(t, s.Protect(t.Context(), 0))
	j.Resign()
	must(t, second.Close())
	must(t, s.Close())
}
