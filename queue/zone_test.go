package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// zoneNames are the zones whose names begin with a prefix, or an error.
func zoneNames(f *fixture, prefix string) string {
	names := []string{}
	var failed error
	must(f, f.db.Update(ctx, func(tx *query.Tx) error {
		names, failed = names[:0], nil
		for name, err := range f.q.Zones(ctx, tx, prefix) {
			if failed = err; err == nil {
				names = append(names, name)
			}
		}
		return nil
	}))
	if failed != nil {
		return failed.Error()
	}
	return fmt.Sprintf("%q", names)
}

// Zones are listed in the order of their names, whatever bytes these have, and so is one that
// has only dead letters.
func TestZones(t *testing.T) {
	f := begin(t)
	if got := zoneNames(f, ""); got != "[]" {
		t.Error(got)
	}
	must(t, f.db.Update(ctx, func(tx *query.Tx) error {
		for _, zone := range []string{"b", "a", "a\x00", "a\x00b", "ab", "Þ", "\x00"} {
			for range 3 {
				if _, err := f.q.Enqueue(ctx, tx, zone, queue.Item{Type: "x"}); err != nil {
					return err
				}
			}
		}
		return f.q.Configure(ctx, tx, "quiet", queue.ZoneConfig{Weight: 2})
	}))
	for prefix, want := range map[string]string{
		"": `["\x00" "a" "a\x00" "a\x00b" "ab" "b" "quiet" "Þ"]`, "a": `["a" "a\x00" "a\x00b" "ab"]`, "a\x00": `["a\x00" "a\x00b"]`,
		"ab": `["ab"]`, "abc": `[]`, "q": `["quiet"]`, "\xff": `list zones "\xff": the prefix is not UTF-8`,
	} {
		if got := zoneNames(f, prefix); got != want {
			t.Errorf("%q: %s, want %s", prefix, got, want)
		}
	}
	if got := zoneNames(f, strings.Repeat("x", queue.MaxName+1)); !strings.Contains(got, "the prefix has 513 bytes; the limit is 512") {
		t.Error(got)
	}
}

// A zone that workers have left, and its row with them, is listed while it has dead
// letters.
func TestZonesWithDeadLettersAlone(t *testing.T) {
	f := begin(t)
	zone := "gone"
	must(t, f.db.Update(ctx, func(tx *query.Tx) error {
		if _, err := f.q.Enqueue(ctx, tx, zone, queue.Item{Type: "x"}); err != nil {
			return err
		}
		jobs, err := f.q.Dequeue(ctx, tx, zone, 1, time.Minute)
		if err != nil {
			return err
		}
		return jobs[0].Bury(ctx, tx, errors.New("why"))
	}))
	for visits := 0; ; visits++ {
		var rows []queue.Raw
		must(t, f.db.Update(ctx, func(tx *query.Tx) error {
			_, err := f.q.Dequeue(ctx, tx, zone, 1, time.Minute)
			return err
		}))
		must(t, f.db.Update(ctx, func(tx *query.Tx) error {
			raws, err := f.q.Raws(ctx, tx)
			rows = raws["zone"]
			return err
		}))
		if len(rows) == 0 {
			break
		}
		if visits == 10 {
			t.Fatal("the row of the zone is not removed")
		}
		f.pass(time.Hour)
	}
	if got := zoneNames(f, ""); got != `["gone"]` {
		t.Error(got)
	}
}
