package main

import "testing"

func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "5000": 5000, "250k": 250_000, "10M": 10_000_000, "1G": 1_000_000_000, "1Gi": 1 << 30, "64Mi": 64 << 20, "1_000": 1000} {
		var n number
		if err := n.Set(text); err != nil || int64(n) != want {
			t.Errorf("%s is %d, %v; want %d", text, int64(n), err, want)
		}
		var again number
		if err := again.Set(n.String()); err != nil || again != n {
			t.Errorf("%d is written %s and read %d, %v", int64(n), n.String(), int64(again), err)
		}
	}
	for _, text := range []string{"", "M", "-1", "1.5M", "10MB", "lots", "9000000000G"} {
		var n number
		if err := n.Set(text); err == nil {
			t.Errorf("%q is taken for %d", text, int64(n))
		}
	}
}
