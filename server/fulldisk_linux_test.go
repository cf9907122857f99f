package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// A server on a full disk says so: to clients, once in the log, and on its readiness
// page. It is ready again when there is room, though no client writes.
func TestNotReadyOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("no disk to fill without the right to mount one: %v", err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	log := new(logBuffer)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := query.Open(filepath.Join(disk, "db"), query.Options{Memory: 16 << 20, Durability: query.DurabilityAsync, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, s := serveToo(t, db, server.Options{Logger: logger})
	defer r.stop()
	tab := r.table("t", "f")
	page(t, s, "/readyz", http.StatusOK)
	// No room at all: where there is some, a small write may go on when a large one fails.
	ballast := filepath.Join(disk, "ballast")
	file, err := os.Create(ballast)
	r.must(err)
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	r.must(file.Close())
	var full error
	unknown := query.DefaultEngine() == query.EnginePebble // the outcome of the write that meets the full disk
	for i := 0; full == nil && i < 200; i++ {
		m := bigtable.NewMutation()
		m.Set("f", "q", 1000, []byte(strings.Repeat(fmt.Sprint(i), 100<<10)))
		full = tab.Apply(r.ctx(), fmt.Sprint(i), m)
		if unknown && full != nil && strings.Contains(full.Error(), "unknown outcome") {
			unknown, full = false, nil
		}
	}
	if status.Code(full) != codes.ResourceExhausted || unknown || !strings.Contains(strings.ToLower(full.Error()), "no space left on device") {
		t.Fatalf("on a full disk: %v", full)
	}
	if says := page(t, s, "/readyz", http.StatusServiceUnavailable); !strings.Contains(says, "takes no writes") || !strings.Contains(strings.ToLower(says), "no space left on device") {
		t.Errorf("not ready: %s", says)
	}
	if got := metric(t, s, "smolwc_store_writes_refused"); got != "1" {
		t.Errorf("smolwc_store_writes_refused is %s", got)
	}
	if n := strings.Count(log.String(), "writes are refused"); n != 1 {
		t.Errorf("%d lines of the log say that writes are refused: %s", n, log)
	}
	r.must(os.Remove(ballast))
	r.until("readiness", func() bool { return isReady(s) })
	page(t, s, "/readyz", http.StatusOK)
}
