package archive

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"
)

// LeaseTest is the part of archive_test.TestLease that runs against a server.
func LeaseTest(t *testing.T, target string) {
	ctx := t.Context()
	a, err := Open(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	b := a.bucket.(*s3Bucket)
	held, unlock, err := b.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.lock(ctx); !errors.Is(err, ErrLocked) {
		t.Errorf("beside another: %v", err)
	}
	if err := held(ctx); err != nil {
		t.Error(err)
	}
	old, tag, err := b.readLease(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ExpireLease(t, a)
	if _, err := b.writeLease(ctx, old, tag); !errors.Is(err, errObjectExists) {
		t.Errorf("replacing what is no longer there: %v", err)
	}
	heldByOther, unlockOther, err := b.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := held(ctx); !errors.Is(err, ErrLocked) {
		t.Errorf("after it was taken over: %v", err)
	}
	unlock() // not the other's
	if err := heldByOther(ctx); err != nil {
		t.Error(err)
	}
	unlockOther()
	if _, _, err := b.readLease(ctx); !errors.Is(err, errNoObject) {
		t.Errorf("after unlock: %v", err)
	}
}

// ExpireLease makes the archive take over a lock that was not renewed for long, of an
// owner whose clock is far ahead.
func ExpireLease(t *testing.T, a *Archive) {
	t.Helper()
	b := a.bucket.(*s3Bucket)
	l, tag, err := b.readLease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Renewed = time.Now().Add(365 * 24 * time.Hour)
	if _, err := b.writeLease(t.Context(), l, tag); err != nil {
		t.Fatal(err)
	}
	b.lease.stale = 0
}

// Impatient makes the archive give up on a server soon.
func Impatient(t *testing.T, a *Archive) {
	t.Helper()
	setPatience(t, a, patience{noProgress: time.Second, attempts: 1})
}

// Hasty makes the archive try again as often as usual, but without long pauses.
func Hasty(t *testing.T, a *Archive) {
	t.Helper()
	hasty := usualPatience
	hasty.backoff = 20 * time.Millisecond
	setPatience(t, a, hasty)
}

func setPatience(t *testing.T, a *Archive, p patience) {
	t.Helper()
	b := a.bucket.(*s3Bucket)
	as, err := newS3Bucket(t.Context(), s3Target{bucket: b.bucket, prefix: b.prefix, endpoint: b.endpoint}, p)
	if err != nil {
		t.Fatal(err)
	}
	a.bucket = as
}

// LeasesOfOthersTest is the part of archive_test.TestALockOutlivesNobody that runs
// against a server: a lock is taken over at once only if its owner was a process of
// this machine that has ended.
func LeasesOfOthersTest(t *testing.T, target string) {
	a, err := Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	b := a.bucket.(*s3Bucket)
	other := startedProcess(t)
	for _, c := range []struct {
		what string
		by   process
		want Liveness
	}{
		{"of a version that says less", process{Host: other.Host, PID: other.PID}, Unknown},
		{"of another machine", process{Host: "elsewhere", PID: other.PID, Boot: "other", Machine: "other", Started: 1}, Unknown},
		{"of a process that lives", other, Alive},
		{"of this process, which has given it up", thisProcess(), Dead},
		{"of a process that has ended", endedProcess(t), Dead},
	} {
		before := lease{Owner: c.what, process: c.by, Renewed: time.Now()}
		if _, err := b.writeLease(t.Context(), before, ""); err != nil {
			t.Fatal(err)
		}
		h, err := a.Holder(t.Context())
		if err != nil || h == nil || h.Liveness != c.want || h.PID != c.by.PID || h.Host != c.by.Host {
			t.Errorf("a lock %s: %+v, %v", c.what, h, err)
		}
		_, unlock, err := b.lock(t.Context())
		if c.want == Dead {
			if err != nil {
				t.Fatalf("a lock %s: %v", c.what, err)
			}
			unlock()
		} else {
			if !errors.Is(err, ErrLocked) {
				t.Fatalf("a lock %s: %v", c.what, err)
			}
			if err := a.Unlock(t.Context(), Holder{owner: "another"}); !errors.Is(err, ErrLocked) {
				t.Errorf("a lock %s was taken away for another: %v", c.what, err)
			}
			if err := a.Unlock(t.Context(), *h); err != nil {
				t.Fatal(err)
			}
		}
		if h, err := a.Holder(t.Context()); h != nil || err != nil {
			t.Errorf("a lock %s was left: %+v, %v", c.what, h, err)
		}
	}
}

// startedProcess is a process that lives until the test ends.
func startedProcess(t *testing.T) process {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Skipf("no process to look at: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := thisProcess()
	p.PID = cmd.Process.Pid
	var err error
	if p.Started, _, err = statOf(p.PID); err != nil || p.Boot == "" {
		t.Skipf("this system does not tell processes apart: %v", err)
	}
	return p
}

// endedProcess is a process that was killed, but whose parent has not noticed yet.
func endedProcess(t *testing.T) process {
	t.Helper()
	p := startedProcess(t)
	running, err := os.FindProcess(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Kill(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, ended, err := statOf(p.PID); ended || err != nil {
			return p
		}
		time.Sleep(time.Millisecond)
	}
}

// A process is dead when that is certain.
func TestLivenessOfProcesses(t *testing.T) {
	alive := startedProcess(t)
	up, known := uptime()
	if !known {
		t.Fatal("how long this machine is up is not known")
	}
	with := func(change func(*process)) process {
		p := alive
		change(&p)
		return p
	}
	for _, c := range []struct {
		what   string
		p      process
		silent time.Duration
		want   Liveness
	}{
		{"itself", alive, 0, Alive},
		{"itself, silent for long", alive, time.Hour, Alive},
		{"another one with its number", with(func(p *process) { p.Started++ }), 0, Dead},
		{"one whose number nobody has", with(func(p *process) { p.PID = 1 << 30 }), 0, Dead},
		{"one of another container", with(func(p *process) { p.Namespace = "pid:[1]" }), time.Hour, Unknown},
		{"one of a system without namespaces", with(func(p *process) { p.Namespace = "" }), 0, Unknown},
		{"one that does not say when it started", with(func(p *process) { p.Started = 0 }), 0, Unknown},
		{"one of another machine", with(func(p *process) { p.Boot, p.Machine = "b", "m" }), 1 << 60, Unknown},
		{"one from before this machine started", with(func(p *process) { p.Boot, p.Machine = "b", thisMachine() }), up + time.Hour, Dead},
		{"one of a copy of this machine, which lives", with(func(p *process) { p.Boot, p.Machine = "b", thisMachine() }), time.Second, Unknown},
		{"one of a copy with another name", with(func(p *process) { p.Boot, p.Machine, p.Host = "b", thisMachine(), "h" }), up + time.Hour, Unknown},
		{"nobody", process{}, 1 << 60, Unknown},
	} {
		if c.p.Machine == "" && c.p.Boot == "b" {
			continue // this machine has no permanent id
		}
		if got := c.p.liveness(c.silent); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func thisMachine() string { return thisProcess().Machine }

// TestALeaseOfTheFuture: some servers look at the clock for Date once a second, so that a
// lock seemed to have been renewed in less than no time.
func TestALeaseOfTheFuture(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().UTC()
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.Header().Set("Last-Modified", now.Add(time.Second).Format(http.TimeFormat))
		_, _ = io.WriteString(w, `{"owner": "another", "host": "elsewhere", "pid": 1}`)
	}))
	t.Cleanup(s.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", TestAccess)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	a, err := Open(t.Context(), "s3://bucket/x?endpoint="+s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := a.Holder(t.Context()); err != nil || h == nil || h.Renewed != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}
