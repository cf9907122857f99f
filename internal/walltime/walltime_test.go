package walltime_test

import (
	"fmt"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/internal/walltime"
)

func ExampleAt() {
	berlin, _ := time.LoadLocation("Europe/Berlin")
	skipped := time.Date(2026, 3, 29, 2, 30, 0, 0, time.UTC)
	twice := time.Date(2026, 10, 25, 2, 30, 0, 0, time.UTC)
	fmt.Println(walltime.At(skipped, berlin))
	fmt.Println(walltime.From(skipped, berlin))
	fmt.Println(walltime.At(twice, berlin))
	// Output:
	// 2026-03-29 03:30:00 +0200 CEST
	// 2026-03-29 03:00:00 +0200 CEST
	// 2026-10-25 02:30:00 +0200 CEST
}

// Liberia was 44 minutes and 30 seconds behind UTC until 1972.
func ExampleInMinutes() {
	monrovia, _ := time.LoadLocation("Africa/Monrovia")
	t := time.Date(1971, 6, 1, 12, 0, 0, 0, time.UTC).In(monrovia)
	fmt.Println(t.Format(time.RFC3339))
	fmt.Println(walltime.InMinutes(t).Format(time.RFC3339))
	// Output:
	// 1971-06-01T11:15:30-00:44
	// 1971-06-01T11:16:00-00:44
}

// Clocks change at midnight, by half an hour, by a day, and on the way to a zone of
// another offset.
func TestChangesOfAllKinds(t *testing.T) {
	for _, c := range []struct{ zone, wall, at, from string }{
		{"America/Santiago", "2026-09-06 00:00:00", "2026-09-06T01:00:00-03:00", "2026-09-06T01:00:00-03:00"},
		{"America/Santiago", "2026-09-06 00:30:00", "2026-09-06T01:30:00-03:00", "2026-09-06T01:00:00-03:00"},
		{"America/Santiago", "2026-04-04 23:30:00", "2026-04-04T23:30:00-03:00", ""},
		{"America/Santiago", "2026-04-05 00:00:00", "2026-04-05T00:00:00-04:00", ""},
		{"Africa/Cairo", "2026-04-24 00:00:00", "2026-04-24T01:00:00+03:00", "2026-04-24T01:00:00+03:00"},
		{"America/Asuncion", "2023-10-01 00:00:00", "2023-10-01T01:00:00-03:00", "2023-10-01T01:00:00-03:00"},
		{"Asia/Beirut", "2026-03-29 00:00:00", "2026-03-29T01:00:00+03:00", "2026-03-29T01:00:00+03:00"},
		{"America/Havana", "2026-11-01 00:30:00", "2026-11-01T00:30:00-04:00", ""},
		{"Australia/Lord_Howe", "2026-10-04 02:15:00", "2026-10-04T02:45:00+11:00", "2026-10-04T02:30:00+11:00"},
		{"Australia/Lord_Howe", "2026-04-05 01:45:00", "2026-04-05T01:45:00+11:00", ""},
		{"Pacific/Apia", "2011-12-30 12:00:00", "2011-12-31T12:00:00+14:00", "2011-12-31T00:00:00+14:00"},
		{"America/Los_Angeles", "2015-03-08 02:30:00", "2015-03-08T03:30:00-07:00", "2015-03-08T03:00:00-07:00"},
		{"Europe/Paris", "2024-10-27 02:30:00", "2024-10-27T02:30:00+02:00", ""},
		{"Europe/Dublin", "2026-03-29 01:30:00", "2026-03-29T02:30:00+01:00", "2026-03-29T02:00:00+01:00"},
		{"UTC", "2026-03-29 02:30:00", "2026-03-29T02:30:00Z", ""},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		wall, err := time.Parse(time.DateTime, c.wall)
		if err != nil {
			t.Fatal(err)
		}
		if c.from == "" {
			c.from = c.at
		}
		if at := walltime.At(wall, zone).Format(time.RFC3339); at != c.at {
			t.Errorf("%s in %s is %s, want %s", c.wall, c.zone, at, c.at)
		}
		if from := walltime.From(wall, zone).Format(time.RFC3339); from != c.from {
			t.Errorf("%s in %s begins at %s, want %s", c.wall, c.zone, from, c.from)
		}
	}
	fixed := time.FixedZone("", -14*3600)
	wall := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	if at := walltime.At(wall, fixed); !walltime.Of(at).Equal(wall) || !walltime.From(wall, fixed).Equal(at) {
		t.Errorf("the first day at -14:00 begins at %v", at)
	}
}

// Beyond the table of a zone, package time ends a year of 366 days a day early, and says
// that this bound comes after itself: a search for changes did not end.
func TestLastDayOfALeapYear(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/Santiago", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Date(2040, 12, 29, 0, 0, 0, 0, time.UTC); at.Year() < 2041 || at.Day() < 4; at = at.Add(30 * time.Minute) {
			if got := walltime.At(walltime.Of(at.In(zone)), zone); !got.Equal(at) {
				t.Errorf("in %s the clocks of %v are shown at %v", name, at, got)
			}
			last, next := walltime.LastChange(at.In(zone)), walltime.NextChange(at.In(zone))
			for _, change := range []time.Time{last, next} {
				if m := change.In(zone).Month(); !change.IsZero() && (m == time.December || m == time.January) { // that no law says
					t.Errorf("in %s clocks change at %v", name, change)
				}
			}
			if last.After(at) || at.Sub(last) > 366*24*time.Hour || !next.After(at) || next.Sub(at) > 366*24*time.Hour {
				t.Errorf("in %s the changes around %v are %v and %v", name, at, last, next)
			}
		}
	}
}

// The two moments are those of a search through all minutes around.
func TestMomentsAreFirst(t *testing.T) {
	zones := []string{"Europe/Berlin", "America/Santiago", "Africa/Cairo", "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana", "Africa/Casablanca", "Asia/Gaza", "America/St_Johns", "Antarctica/Troll", "Asia/Manila", "Europe/Dublin"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		year := rapid.IntRange(1970, 2110).Draw(t, "year")
		wall := time.Date(year, 1, 1, 0, rapid.IntRange(0, 366*24*60).Draw(t, "minute"), 0, 0, time.UTC)
		if change := walltime.NextChange(time.Date(year, 1, 1, 12, 0, 0, 0, zone)); !change.IsZero() { // half of them near a change
			if rapid.Bool().Draw(t, "near") {
				wall = walltime.Of(change).Truncate(time.Minute).Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "away")) * time.Minute)
			}
		}
		at, from := walltime.At(wall, zone), walltime.From(wall, zone)
		var first, shown time.Time
		for m := wall.Add(-26 * time.Hour); m.Before(wall.Add(26 * time.Hour)); m = m.Add(time.Minute) {
			here := walltime.Of(m.In(zone))
			if first.IsZero() && !here.Before(wall) {
				first = m
			}
			if shown.IsZero() && here.Equal(wall) {
				shown = m
			}
		}
		if !from.Equal(first) {
			t.Errorf("%v in %v begins at %v, and it is shown at %v", wall, zone, from, first)
		}
		if shown.IsZero() {
			_, before := first.Add(-time.Second).In(zone).Zone()
			shown = wall.Add(-time.Duration(before) * time.Second)
		}
		if !at.Equal(shown) {
			t.Errorf("%v in %v is at %v, want %v", wall, zone, at, shown)
		}
	})
}
