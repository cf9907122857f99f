package pebble

import (
	"testing"

	"github.com/smolwc/smolwc/cf/cftest"
)

func TestLongScans(t *testing.T) {
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cftest.LongTable(t, s)
	cftest.LongScans(t, s, s.crew.Working)
}
