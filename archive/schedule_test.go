package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/query"
)

// A scheduleRig is a database whose clock a test sets, and a target.
type scheduleRig struct {
	t      *testing.T
	db     *query.DB
	late   atomic.Int64
	target string
	log    syncedBuffer
}

type syncedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newScheduleRig(t *testing.T) *scheduleRig {
	r := &scheduleRig{t: t, target: filepath.Join(t.TempDir(), "backups")}
	r.db = openDB(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: testSchema(), Clock: func() time.Time { return time.Now().Add(time.Duration(r.late.Load())) }})
	return r
}

// run runs a schedule until the returned function is called.
func (r *scheduleRig) run(o archive.ScheduleOptions) (s *archive.Schedule, stop func()) {
	r.t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(&r.log, nil))
	s, err := archive.NewSchedule(r.db, r.target, o)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	return s, func() { cancel(); running.Wait() }
}

func (r *scheduleRig) wait(what string, until func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !until(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("waiting for %s; the log is %s", what, r.log.String())
		}
	}
}

// generations are the backups at the target: those of the schedule have an s.
func (r *scheduleRig) generations() string {
	r.t.Helper()
	all, err := openArchive(r.t, r.target).List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, g := range all {
		name := fmt.Sprint(g.ID)
		if g.Scheduled {
			name += "s"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// A schedule backs up by the database's clock, also when the process was down; it removes
// its own old backups alone, and never the newest.
func TestScheduledBackups(t *testing.T) {
	const day = 24 * time.Hour
	r := newScheduleRig(t)
	if _, err := openArchive(t, r.target).Backup(t.Context(), r.db, archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(r.target, "mine")
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := archive.ScheduleOptions{Every: day, Keep: 2*day + day/2}
	s, stop := r.run(o)
	r.wait("the first backup", func() bool { return s.Status().Made == 1 })
	for i := range 3 {
		r.late.Add(int64(day))
		r.wait("a backup", func() bool { return s.Status().Made == int64(i+2) })
	}
	if got := r.generations(); got != "1 3s 4s 5s" {
		t.Errorf("there are the backups %s", got)
	}
	status := s.Status()
	if status.Last.ID != 5 || status.Last.Size == 0 || status.Elapsed <= 0 || status.Failed != 0 {
		t.Errorf("the status is %+v", status)
	}
	stop()

	// A restart makes no backup before its time, and one when several were missed.
	s, stop = r.run(o)
	r.wait("the old backups", func() bool { return s.Status().Last.ID == 5 })
	r.late.Add(int64(day - time.Minute))
	stop()
	r.late.Add(int64(10 * day))
	s, stop = r.run(o)
	r.wait("the missed backup", func() bool { return s.Status().Made == 1 })
	stop()
	if got := r.generations(); got != "1 6s" {
		t.Errorf("there are the backups %s", got)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a file of others: %v", err)
	}
	if report, err := openArchive(t, r.target).Verify(t.Context(), archive.Options{}); err != nil || report.Generations != 2 {
		t.Errorf("verified %+v: %v", report, err)
	}
}

// A backup that fails is logged with what to do, and tried again; the old ones stay.
func TestScheduledBackupsThatFail(t *testing.T) {
	r := newScheduleRig(t)
	o := archive.ScheduleOptions{Every: time.Hour, Keep: time.Minute}
	s, stop := r.run(o)
	defer stop()
	r.wait("the first backup", func() bool { return s.Status().Made == 1 })
	generations := filepath.Join(r.target, "generations")
	for _, e := range []error{os.Rename(generations, generations+"-"), os.WriteFile(generations, nil, 0o644)} {
		if e != nil {
			t.Fatal(e)
		}
	}
	r.late.Add(int64(time.Hour))
	r.wait("a failure", func() bool { return s.Status().Failed == 1 })
	r.wait("the log", func() bool { return strings.Contains(r.log.String(), "not backed up on schedule") })
	for _, want := range []string{"level=ERROR", "target=" + r.target, "advice=", "tried_again_in=10m", "last_backup=20"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("no %q in the log: %s", want, r.log.String())
		}
	}
	for _, e := range []error{os.Remove(generations), os.Rename(generations+"-", generations)} {
		if e != nil {
			t.Fatal(e)
		}
	}
	if got := r.generations(); got != "1s" {
		t.Errorf("after the failure there are %s", got)
	}
	r.late.Add(int64(10 * time.Minute))
	r.wait("the second try", func() bool { return s.Status().Made == 2 })
	if got := r.generations(); got != "2s" {
		t.Errorf("after the second try there are %s", got)
	}
}

// Schedules that can never work are refused at once.
func TestSchedulesThatAreRefused(t *testing.T) {
	r := newScheduleRig(t)
	memory, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, c := range []struct {
		db     *query.DB
		target string
		o      archive.ScheduleOptions
		want   string
	}{
		{r.db, "", archive.ScheduleOptions{}, "a target is needed"},
		{r.db, "ftp://x", archive.ScheduleOptions{}, "is not a target"},
		{r.db, filepath.Join(r.db.Dir(), "backups"), archive.ScheduleOptions{}, "in the database's own directory"},
		{r.db, r.target, archive.ScheduleOptions{Every: time.Millisecond}, "every second or less often"},
		{r.db, r.target, archive.ScheduleOptions{Keep: -1}, "0 or longer"},
		{memory, r.target, archive.ScheduleOptions{}, "no files to copy"},
	} {
		if _, err := archive.NewSchedule(c.db, c.target, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("target %q, %+v: %v, want %q", c.target, c.o, err, c.want)
		}
	}
}

// A schedule that NewSchedule did not make does nothing.
func TestScheduleOfNothing(t *testing.T) {
	(*archive.Schedule)(nil).Run(t.Context())
	new(archive.Schedule).Run(t.Context())
	s, err := archive.NewSchedule(newScheduleRig(t).db, t.TempDir(), archive.ScheduleOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	s.Run(none)
}

// Schedules of several processes with one target make one backup each time, also if their clocks
// differ, or one finds the other at work.
func TestSchedulesWithOneTarget(t *testing.T) {
	const day = 24 * time.Hour
	first := newScheduleRig(t)
	second := &scheduleRig{t: t, db: first.db, target: first.target}
	o := archive.ScheduleOptions{Every: day}
	a, stopA := first.run(o)
	first.wait("the first backup", func() bool { return a.Status().Made == 1 })
	b, stopB := second.run(o)
	first.wait("the other schedule", func() bool { return b.Status().Last.ID == 1 })
	for i := range 5 {
		first.late.Add(int64(day))
		first.wait("a backup", func() bool { return a.Status().Last.ID == i+2 && b.Status().Last.ID == i+2 })
	}
	stopA()
	stopB()
	if made := a.Status().Made + b.Status().Made; made != 6 || a.Status().Failed+b.Status().Failed != 0 {
		t.Errorf("6 backups are due, and %d were made; %d and %d have failed", made, a.Status().Failed, b.Status().Failed)
	}
	if got := first.generations(); got != "1s 2s 3s 4s 5s 6s" {
		t.Errorf("there are the backups %s", got)
	}
}
