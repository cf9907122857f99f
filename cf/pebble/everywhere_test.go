package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/pebble"
)

// failAt makes one call of the file system fail, the at-th of those that may. It reports
// whether there were as many.
func (d *disk) failAt(at int64, may func(errorfs.Op) bool, err error) (reached func() bool) {
	var calls atomic.Int64
	fault := func(op errorfs.Op) error {
		if may(op) && calls.Add(1) == at+1 {
			return err
		}
		return nil
	}
	d.fault.Store(&fault)
	return func() bool { return calls.Load() > at }
}

// One call of the disk fails, anywhere. No call of the store hangs, nothing that was
// acknowledged is lost, and a later open finds all of it, whatever had failed.
func TestOneFaultAnywhere(t *testing.T) {
	step := int64(7 * slow)
	if testing.Short() {
		step = 53
	}
	for at, more := int64(0), true; more; at += step {
		more = oneFault(t, at)
	}
}

func oneFault(t *testing.T, at int64) bool {
	d := newDisk()
	s := openEager(t, d)
	create(t, s, "t/a", "t/b")
	reached := d.failAt(at, func(op errorfs.Op) bool { return op.Kind != errorfs.OpLock }, syscall.EIO)
	acked := map[int]bool{}
	for i := range 40 {
		if putRow(t.Context(), s, i) == nil {
			acked[i] = true
		}
		switch i % 10 {
		case 3:
			_ = s.SetExpiry("t/b", cf.Expiry{Before: int64(100 + i), Period: 1})
			_ = s.Flush(t.Context(), "t/a")
		case 5:
			_ = cftest.LoadCell(t.Context(), s, "t/b", fmt.Sprintf("r%06d", i), "q", "v")
		case 7:
			_ = s.Compact(t.Context(), "t/a", cf.Range{})
		case 8:
			_, _ = s.Checkpoint(t.Context(), fmt.Sprint("copy", i))
		case 9:
			if f, err := pebble.OpenFollower("db", pebble.Options{FS: d, Memory: 8 << 20}); err == nil {
				found, err := cftest.Read(t.Context(), f, cf.Scan{Family: "t/a", Rows: []cf.Range{{}}})
				if err == nil && len(found) < len(acked) {
					t.Errorf("fault %d: a reader has %d rows, of %d that were acknowledged", at, len(found), len(acked))
				}
				if err := f.Close(); err != nil {
					t.Errorf("fault %d: closing a reader: %v", at, err)
				}
			}
		}
	}
	_ = s.Close()
	d.heal()
	s = open(t, d, false)
	found := rows(t, s, "t/a")
	for i := range acked {
		if !found[i] {
			t.Errorf("fault %d: row %d was acknowledged and is gone", at, i)
		}
	}
	if err := errors.Join(putRow(t.Context(), s, 0), s.Close()); err != nil {
		t.Errorf("fault %d: %v", at, err)
	}
	return reached()
}

// One call fails while a store is opened, or all calls from one on. The open ends, it says why
// if it failed, and a later one finds all that was acknowledged.
func TestAFaultWhileOpening(t *testing.T) {
	opens := map[string]func(*disk) (io.Closer, error){
		"a writer": func(d *disk) (io.Closer, error) { return pebble.Open("db", pebble.Options{FS: d, Memory: 8 << 20}) },
		"a reader": func(d *disk) (io.Closer, error) {
			return pebble.Open("db", pebble.Options{FS: d, Memory: 8 << 20, ReadOnly: true})
		},
		"a follower": func(d *disk) (io.Closer, error) {
			return pebble.OpenFollower("db", pebble.Options{FS: d, Memory: 8 << 20})
		},
	}
	for who, open := range opens {
		for _, fault := range []error{syscall.EMFILE, syscall.EIO} {
			for _, lasts := range []bool{false, true} {
				for at, more := int64(0), true; more; at += slow {
					t.Run(fmt.Sprintf("%s/%v at call %d, lasting %t", who, fault, at, lasts), func(t *testing.T) {
						more = openWithFault(t, open, fault, at, lasts)
					})
				}
			}
		}
	}
}

func openWithFault(t *testing.T, openFaulty func(*disk) (io.Closer, error), fault error, at int64, lasts bool) (reached bool) {
	d := newDisk()
	s := open(t, d, true)
	create(t, s, "t/a")
	for i := range 3 {
		if err := putRow(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	fail := func(op errorfs.Op) error {
		if n := calls.Add(1) - 1; op.Kind != errorfs.OpLock && (n == at || n > at && lasts) {
			return fault
		}
		return nil
	}
	d.fault.Store(&fail)
	opened, err := openFaulty(d)
	reached = calls.Load() > at
	if err != nil && (!errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), fault.Error())) {
		t.Error(err)
	}
	if err == nil {
		_ = opened.Close()
	}
	d.heal()
	s = open(t, d, true)
	if found := rows(t, s, "t/a"); len(found) != 3 {
		t.Errorf("rows %v", found)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return reached
}

// A reader that cannot read says so, and reads again when the disk is well.
func TestAReaderOnABadDisk(t *testing.T) {
	d := newDisk()
	s := open(t, d, false)
	defer s.Close()
	create(t, s, "t/a")
	for i := range 10 {
		if err := putRow(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(t.Context(), "t/a"); err != nil {
		t.Fatal(err)
	}
	f, err := pebble.OpenFollower("db", pebble.Options{FS: d, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := putRow(t.Context(), s, 10); err != nil {
		t.Fatal(err)
	}
	none := func(cf.Snapshot, []string) error { return nil }
	for at, more := int64(0), true; more; at++ {
		reached := d.failAt(at, func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsRead }, syscall.EIO)
		err := f.Refresh(t.Context(), none)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EIO) && !errors.Is(err, cf.ErrUnavailable) {
			t.Fatalf("fault %d: %v", at, err)
		}
		more = reached()
		d.heal()
		if found := rows(t, f, "t/a"); len(found) != 10 { // it shows what it showed
			t.Fatalf("fault %d: rows %v", at, found)
		}
	}
	d.heal()
	refresh(t, f)
	if found := rows(t, f, "t/a"); len(found) != 11 {
		t.Errorf("rows %v", found)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if err := f.Refresh(ctx, none); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a refresh without time: %v", err)
	}
}
