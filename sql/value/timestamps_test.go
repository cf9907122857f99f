package value

import (
	"testing"
	"unsafe"
)

// A time zone may be a value of a row whose memory the next row uses again.
func TestZonesKeepNoMemoryOfRows(t *testing.T) {
	const name = "Pacific/Chatham"
	row := []byte(name)
	zone, err := Zone(unsafe.String(&row[0], len(row)))
	if err != nil {
		t.Fatal(err)
	}
	copy(row, "Pacific/Gambier")
	if again, err := Zone(name); err != nil || again != zone || zone.String() != name {
		t.Errorf("the zone is %v and then %v, %v", zone, again, err)
	}
}

// A zone has one name, so that the zones that are kept are few.
func TestZonesHaveOneName(t *testing.T) {
	for _, name := range []string{"Europe//Paris", "./Europe/Paris", "Europe/./Paris", "Europe/Paris/", ".", "Local", ""} {
		if zone, err := Zone(name); err == nil {
			t.Errorf("%q is the zone %v", name, zone)
		}
	}
	if _, err := Zone("Europe/Paris"); err != nil {
		t.Error(err)
	}
}
