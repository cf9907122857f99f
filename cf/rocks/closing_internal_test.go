//go:build cgo && linux && !norocksdb

package rocks

import "testing"

// A family that is dropped while a close flushes it stays until it has been flushed.
func TestAFamilyThatIsFlushedAtACloseStays(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	putCells(t, s, "r q@1=v")
	all, set, err := s.flushable()
	if err != nil || len(all) != 2 {
		t.Fatalf("%d families, %v", len(all), err)
	}
	if err := s.DropFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if len(s.dropped.all) != 1 {
		t.Error("the family is freed while it is flushed")
	}
	s.dropped.unuse(set)
	s.maintenance.Done()
	if len(s.dropped.all) != 0 {
		t.Error("the family stays behind its last use")
	}
}
