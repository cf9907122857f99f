package cftikv_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

// What TiKV would refuse is refused before anything is written.
func TestTooLarge(t *testing.T) {
	s := processes(t, 1, "f")[0]
	limits := s.Limits()
	write := func(row, value string) error {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			put(b, "f", "beside", "x")
			put(b, "f", row, value)
			return nil
		})
		return err
	}
	qualifier := func(n int) error {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			b.Row(id("r"))
			b.Put("f", strings.Repeat("q", n), 0, []byte("v"))
			return nil
		})
		return err
	}
	load := func(qualifier, value string) error {
		in, err := s.Ingest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cells := bulk.NewSorter(1, 1<<20, in.TempDir(), in.Merge)
		defer cells.Close()
		cells.Row("r")
		cells.Group(0)
		cells.Value(append(cells.Cell(qualifier, 0), value...), false)
		cells.EndGroup()
		sorted, err := cells.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run, err := in.Run(t.Context(), "f")
		if err != nil {
			t.Fatal(err)
		}
		err = sorted.Parts(1)[0].Each(t.Context(), func(c cf.CellGroups) error { return run.Write(t.Context(), c) })
		return errors.Join(err, run.Close())
	}
	for name, err := range map[string]error{
		"a value beyond the limit":     write("r", strings.Repeat("v", limits.Value+1)),
		"a key that grows in TiKV":     write(strings.Repeat("\x00", limits.RowKey), "v"),
		"a row key beyond the limit":   write(strings.Repeat("r", limits.RowKey+1), "v"),
		"a qualifier beyond the limit": qualifier(limits.Qualifier + 1),
		"such a qualifier in a load":   load(strings.Repeat("q", limits.Qualifier+1), "v"),
		"such a value in a load":       load("q", strings.Repeat("v", limits.Value+1)),
	} {
		if !errors.Is(err, cf.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := values(t, s, nil, "f"); len(got) != 0 {
		t.Errorf("%d rows were written", len(got))
	}
	if err := write(strings.Repeat("r", limits.RowKey), strings.Repeat("v", limits.Value)); err != nil {
		t.Errorf("a cell at the limits: %v", err)
	}
}

// A store that must exist is not created, and one of another format is refused.
func TestOpeningRefuses(t *testing.T) {
	c := newCluster(t)
	client := c.connect(nil)
	_, err := cftikv.Open(t.Context(), client, "test", cftikv.Options{MustExist: true})
	if !errors.Is(err, cf.ErrNotExist) {
		t.Errorf("a store that is missing: %v", err)
	}
	if n := c.stored(); n != 0 {
		t.Errorf("%d keys were written", n)
	}
	tx, err := client.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tx.Set([]byte("smolwc/later/mv"), []byte{2, 0}), tx.Set([]byte("smolwc/broken/mv"), []byte{1, 0}), tx.Set([]byte("smolwc/others/x"), []byte{1}), tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err = cftikv.Open(t.Context(), client, "later", cftikv.Options{})
	if err == nil || !strings.Contains(err.Error(), "format 2, written by a newer smolwc") || errors.Is(err, cf.ErrCorrupt) {
		t.Errorf("a store of a later format: %v", err)
	}
	_, err = cftikv.Open(t.Context(), client, "broken", cftikv.Options{})
	if !errors.Is(err, cf.ErrCorrupt) {
		t.Errorf("a store with a damaged version: %v", err)
	}
	_, err = cftikv.Open(t.Context(), client, "others", cftikv.Options{})
	if !errors.Is(err, cf.ErrCorrupt) || !strings.Contains(err.Error(), "smolwc/others/x") {
		t.Errorf("a store where another program has written: %v", err)
	}
	if s, err := cftikv.Open(t.Context(), client, "a/b", cftikv.Options{}); err == nil || s != nil {
		t.Errorf("a name with a slash: %v", err)
	}
}

// A URL is judged before anything is asked for, and a cluster that does not answer is
// unavailable when the context ends.
func TestOpeningByURL(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := cftikv.OpenURL(ctx, "tikv://127.0.0.1:1/test", cftikv.Options{}); !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "store test: unavailable: no PD answers: ") {
		t.Errorf("nobody listens: %v", err)
	}
	for _, url := range []string{"tikv://127.0.0.1/test", "tikv://127.0.0.1:1/a%2Fb"} {
		if _, err := cftikv.OpenURL(t.Context(), url, cftikv.Options{}); err == nil || errors.Is(err, cf.ErrUnavailable) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
