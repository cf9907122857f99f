package main

import (
	"testing"

	"github.com/smolwc/smolwc/internal/config"
)

func TestMemoryOfAServer(t *testing.T) {
	for _, c := range []struct {
		flag, file string
		want       int64
	}{
		{"", "", 128 << 20},
		{"", "config.yaml", 256 << 20},
		{"32MiB", "", 32 << 20},
		{"32MiB", "config.yaml", 32 << 20},
	} {
		cfg := &config.Config{Path: c.file, Memory: 256 << 20}
		if err := (&serveRun{memory: c.flag}).setMemory(cfg); err != nil || cfg.Memory != c.want {
			t.Errorf("--memory %q, file %q: %d, %v; want %d", c.flag, c.file, cfg.Memory, err, c.want)
		}
	}
}
