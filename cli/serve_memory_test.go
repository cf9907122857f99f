package cli

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cli/internal/config"
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

// Memory is given back in the first idle second after work, and once more when the
// engine's own work has had time to end; never under load, and not after little work.
func TestMemoryIsGivenBackWhenIdle(t *testing.T) {
	const idle, little, much = 0, idleBytes, busyBytes
	w := idleWatch{busy: true}
	now, seconds := uint64(0), 0
	for i, c := range []struct {
		seconds int
		bytes   uint64 // allocated in each of them
		at      []int  // in which of them memory is given back
	}{
		{20, idle, []int{1, 10}},
		{5, much, nil},
		{9, idle, []int{1}},
		{1, little, nil}, // too little work to leave memory to return, but no longer idle
		{20, idle, []int{10}},
		{20, little, nil}, // much work at the end
		{1, idle, []int{1}},
	} {
		var at []int
		for s := range c.seconds {
			seconds++
			if now += c.bytes; w.tick(now) {
				at = append(at, s+1)
			}
		}
		if !slices.Equal(at, c.at) {
			t.Errorf("step %d: memory is given back in seconds %v, want %v", i, at, c.at)
		}
	}
}

// releaseIdle watches this process, which is idle, and ends with its context.
func TestReleaseIdle(t *testing.T) {
	garbage := make([]byte, 64<<20)
	for i := range garbage {
		garbage[i] = 1
	}
	runtime.KeepAlive(garbage)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		releaseIdle(ctx)
	}()
	before := releasedToSystem()
	for deadline := time.Now().Add(5 * time.Minute); releasedToSystem() < before+32<<20; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a minute went by without memory being given back")
		}
	}
	cancel()
	<-done
}

func releasedToSystem() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
