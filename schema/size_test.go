package schema_test

import (
	"math"
	"testing"

	"github.com/smolwc/smolwc/schema"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "17B": 17, "64KiB": 64 << 10, "64MiB": 64 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40,
		"512KB": 512e3, "512MB": 512e6, "3GB": 3e9, "1TB": 1e12,
		"9223372036854775807": math.MaxInt64, "8388607TiB": 8388607 << 40,
	} {
		if got, err := schema.ParseSize(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "MiB", "-1", "+1", "1.5GiB", "1 GiB", "1gib", "1G", "1PiB", "0x10", "1e9",
		"9223372036854775808", "8388608TiB", "99999999999999999999MiB",
	} {
		if got, err := schema.ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for want, n := range map[string]int64{
		"0": 0, "17": 17, "1000": 1000, "1KiB": 1 << 10, "1025": 1025, "1536KiB": 3 << 19, "64MiB": 64 << 20, "1TiB": 1 << 40,
	} {
		got := schema.FormatSize(n)
		if back, err := schema.ParseSize(got); got != want || err != nil || back != n {
			t.Errorf("%d: got %s, which reads as %d, %v", n, got, back, err)
		}
	}
}
