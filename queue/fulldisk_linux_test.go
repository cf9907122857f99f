package queue_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// A worker waits while the disk is full, and says so without flooding the log. Then it
// ends the job that has run meanwhile.
func TestAFullDiskIsWaitedOut(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("no disk to fill without the right to mount one: %v", err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	db, err := query.Open(filepath.Join(disk, "db"), query.Options{Schema: withQueues, Memory: 16 << 20, Durability: query.DurabilityAsync})
	must(t, err)
	defer db.Close()
	q := queue.New(db, queue.Options{})
	f := &fixture{TB: t, db: db, q: q}
	ballast := filepath.Join(disk, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 16<<20), 0o600))
	f.do(func(tx *query.Tx) error { return q.Configure(ctx, tx, "paused", queue.ZoneConfig{Paused: true}) })
	f.enqueue("acme", queue.Item{})
	begun, full, log := make(chan struct{}), make(chan struct{}), new(lines)
	var ran atomic.Int64
	o := quick()
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	end := work(t, q, queue.Handlers{"mail": func(context.Context, *queue.Job) error {
		ran.Add(1)
		close(begun)
		<-full
		return nil
	}}, o)
	<-begun
	fill := func(payload int) (err error) {
		for err == nil {
			text := make([]byte, payload)
			_, _ = rand.Read(text) // what is compressed would never fill the disk
			err = db.Update(ctx, func(tx *query.Tx) error {
				_, err := q.Enqueue(ctx, tx, "paused", queue.Item{Type: "mail", Payload: text})
				return err
			})
		}
		return err
	}
	// A write that failed leaves room for a smaller one, up to thousands of the smallest.
	rest, err := os.Create(filepath.Join(disk, "rest"))
	must(t, err)
	for _, payload := range []int{queue.MaxPayload / 2, queue.MaxPayload / 16, queue.MaxPayload / 128, 1, 1} {
		if err := fill(payload); !strings.Contains(err.Error(), "o space left on device") {
			t.Fatal(err)
		}
		for err := error(nil); err == nil; {
			_, err = rest.Write(make([]byte, 512))
		}
	}
	must(t, rest.Close())
	close(full)
	waitFor(t, func() bool { return log.count("ending a job") > 2 })
	must(t, os.Remove(ballast))
	waitFor(t, func() bool { return f.stats("acme") == queue.Stats{} })
	end()
	if n := ran.Load(); n != 1 {
		t.Errorf("the job ran %d times", n)
	}
	audit(t, db, q)
}

func (l *lines) count(with string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, with) {
			n++
		}
	}
	return n
}
