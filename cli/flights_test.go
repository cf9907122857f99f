package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flightsConfig declares the table of the real flights.
const flightsConfig = `tables:
  - name: fleet
    families:
      - {name: meta, max_versions: 1}
      - {name: loc, type: string}
      - {name: time, type: i32}
      - {name: delay, type: i32}
`

// The flights out of Seattle and Portland in 2014 (pnwflights14, CC0) are not
// part of the project; the test looks for them beside the checkout.
func TestFlights(t *testing.T) {
	data, err := filepath.Abs(cmp.Or(os.Getenv("SMOLWC_FLIGHTS"), "../../shared/data/pnwflights14"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(data, "flights.csv.gz")); err != nil {
		t.Skip("the flights are not here; SMOLWC_FLIGHTS names the folder of flights.csv.gz and planes.csv.gz")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(flightsConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	smolwc := func(format string, statement string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := run([]string{"--config", config, "--db", filepath.Join(dir, "db"), "--format", format, "-c", statement}, nil, &stdout, &stderr, noEnv)
		if code != 0 {
			t.Fatalf("%s: exit %d, %s", statement, code, &stderr)
		}
		if said := strings.TrimSpace(stderr.String()); said != "" {
			t.Log(said)
		}
		return strings.TrimSpace(stdout.String())
	}
	smolwc("csv", fmt.Sprintf(`import fleet from '%s/flights.csv.gz' na=NA key='flight#{tailnum}#{year}-{month:02}-{day:02}#{carrier}{flight}#{origin}-{dest}' columns=loc:origin=origin,loc:dest=dest,time:dep=dep_time,time:arr=arr_time,time:air=air_time,delay:dep=dep_delay,delay:arr=arr_delay,meta:distance=distance:i32`, data))
	smolwc("csv", fmt.Sprintf(`import fleet from '%s/planes.csv.gz' na=NA key='plane#{tailnum}' columns=meta:model=model,meta:maker=manufacturer,meta:seats=seats:i32,meta:year=year:i32`, data))
	for _, c := range []struct{ what, statement, want string }{
		{"flights", "count fleet prefix=flight#", "162049"},
		{"aircraft", "count fleet prefix=plane#", "2628"},
		{"flights of N223AG", "count fleet prefix=flight#N223AG#", "755"},
		{"flights of N223AG in July", "count fleet prefix=flight#N223AG#2014-07-", "70"},
		{"two hours late", "count fleet prefix=flight# where delay:dep >= 120", "1846"},
	} {
		if got := smolwc("csv", c.statement); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	late := smolwc("jsonl", "scan fleet prefix=flight# columns=delay:dep where delay:dep >= 120 limit=0")
	if n := strings.Count(late, "\n") + 1; n != 1846 {
		t.Errorf("%d lines of flights two hours late, want 1846", n)
	}
	if seats := smolwc("jsonl", "get fleet plane#N102UW columns=meta:seats"); !strings.Contains(seats, `"t":"i32","v":182`) {
		t.Errorf("seats of N102UW: %s", seats)
	}
}
