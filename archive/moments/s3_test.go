package moments_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

// A store is an object store in memory that speaks as much of S3's protocol as backups need. Some of its requests fail.
type store struct {
	*httptest.Server
	mu       sync.Mutex
	objects  map[string][]byte
	requests int
	every    int  // this many requests go well, and then one fails, in one way after the other
	replaces bool // it has no conditional puts
	away     bool
	hangs    int           // if it is not 0, this request and all later ones get no answer
	hung     chan struct{} // closed at the first of them
	late     time.Duration // how long a list does not show an object that was made
	made     map[string]time.Time
}

func newStore(t *testing.T) *store {
	s := &store{objects: map[string][]byte{}, made: map[string]time.Time{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *store) set(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

func (s *store) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.hangs > 0 && s.requests >= s.hangs {
		if s.requests == s.hangs {
			close(s.hung)
		}
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
		return
	}
	fault := 0
	if s.every > 0 && s.requests%s.every == 0 {
		fault = 1 + s.requests/s.every%3
	}
	switch {
	case s.away || fault == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case err != nil || fault == 2:
		panic(http.ErrAbortHandler)
	}
	var out any = w
	if fault == 3 { // it is done, and the answer is lost
		out = httptest.NewRecorder()
		defer panic(http.ErrAbortHandler)
	}
	s.answer(out.(http.ResponseWriter), r, body)
}

func (s *store) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
	}
	key := strings.TrimPrefix(r.URL.Path, "/bucket/")
	there, ok := s.objects[key]
	tag := fmt.Sprintf("%q", fmt.Sprint(len(there), string(there[:min(len(there), 200)])))
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
		type content struct {
			Key  string
			Size int
		}
		var page struct {
			XMLName  xml.Name `xml:"ListBucketResult"`
			Contents []content
		}
		for _, key := range slices.Sorted(maps.Keys(s.objects)) {
			if strings.HasPrefix(key, r.URL.Query().Get("prefix")) && time.Since(s.made[key]) >= s.late {
				page.Contents = append(page.Contents, content{key, len(s.objects[key])})
			}
		}
		_ = xml.NewEncoder(w).Encode(page)
	case r.Method == http.MethodGet && !ok:
		refuse(http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodGet:
		w.Header().Set("ETag", tag)
		_, _ = w.Write(there)
	case r.Method == http.MethodPut && !s.replaces && (ok && r.Header.Get("If-None-Match") == "*" || r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != tag):
		refuse(http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		s.objects[key], s.made[key] = body, time.Now()
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
	}
}

func (s *store) target() string { return "s3://bucket/fleet?endpoint=" + s.URL }

func init() {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"} {
		_ = os.Setenv(name, value)
	}
}

// newSourceAt sends to a target.
func newSourceAt(t *testing.T, target string) *source {
	s := newSource(t)
	s.quiet()
	s.target = target
	s.send()
	return s
}

// Requests that fail, are lost, or whose answers are lost change nothing: no moment is missing.
func TestAnUnreliableStore(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	s := newSourceAt(t, store.target())
	s.sent()
	store.set(func() { store.every = 7 })
	var states []state
	for i := range 4 {
		states = append(states, s.set(fmt.Sprint("plane", i)))
	}
	s.quiet()
	store.set(func() { store.every = 0 })
	if r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{}); err != nil || len(r.Gaps) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	s.compare(states[2:])
}

// While the store is away writes go on, and the delay is said. When it is back, everything arrives, without a gap and with its
// time, also by another process.
func TestAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	s := newSourceAt(t, store.target())
	s.sent()
	first := s.set("before")
	store.set(func() { store.away = true })
	s.setAnyway("away")
	away := s.state("a set while the store is away")
	await(t, "a delay", func() (string, bool) {
		st := s.sender.Status()
		return fmt.Sprintf("%+v", st), st.Delay(s.now()) > 0 && st.Latest > st.Position
	})
	minute := int64(time.Minute / time.Microsecond)
	s.clock.micros.Add(minute)
	s.setAnyway("away, later")
	later := s.state("a later one")
	s.clock.micros.Add(minute)
	s.close() // the process ends, and nothing was sent
	s.clock.micros.Add(minute)
	s.open()
	store.set(func() { store.away = false })
	s.send()
	s.sent()
	last := s.set("after")
	s.quiet()
	if st := s.sender.Status(); st.Gaps > 0 {
		t.Errorf("%+v", st)
	}
	s.compare([]state{first, away, later, last})
}

// An object store without conditional puts is refused.
func TestAStoreThatReplacesIsRefused(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	store.replaces = true
	s := newSourceAt(t, store.target())
	await(t, "a refusal", func() (string, bool) {
		err := s.sender.Status().Err
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "conditional puts")
	})
	s.quiet()
	for key := range store.objects {
		if strings.Contains(key, "segments") {
			t.Errorf("%s was written", key)
		}
	}
}

// A store that is away for longer than the log is kept costs a gap, which is said and recorded, and no write.
func TestAStoreThatIsAwayForTooLong(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	s := newSource(t)
	s.close()
	s.target, s.kept = store.target(), 1<<20
	s.open()
	scheduled, err := archive.NewSchedule(s.db, s.target, archive.ScheduleOptions{Every: 1000 * time.Hour})
	must(t, err)
	ctx, cancel := contextOf(t)
	defer cancel()
	go scheduled.Run(ctx)
	await(t, "a backup", func() (string, bool) { return fmt.Sprint(scheduled.Status()), scheduled.Status().Made > 0 })
	s.o.Schedule = scheduled // its backup is of no use after the gap
	s.send()
	s.sent()
	first := s.set("before")
	s.set("behind") // so that the archive has the moment of the first
	store.set(func() { store.away = true })
	s.setAnyway("lost")
	lost := s.now()
	await(t, "a failure", func() (string, bool) {
		err := s.sender.Status().Err
		return fmt.Sprint(err), err != nil
	})
	value := cells.Bytes(make([]byte, 256<<10))
	for i := range 40 { // more than the log is kept for, in several files
		m := write.NewMutation()
		m.Set("meta", "large", value)
		must(t, s.db.Table("fleet").Apply(t.Context(), fmt.Sprint("large", i%3), m))
		if i%10 == 9 {
			must(t, s.db.Table("fleet").Flush(t.Context()))
		}
	}
	await(t, "the log to be trimmed", func() (string, bool) {
		s.setAnyway("more")
		must(t, s.db.Table("fleet").Flush(t.Context()))
		must(t, s.store.(cf.Follower).TrimLog())
		_, err := s.store.Log(cf.Position(first.position))
		return fmt.Sprint(err), errors.Is(err, cf.ErrTrimmed)
	})
	store.set(func() { store.away = false })
	await(t, "the gap", func() (string, bool) {
		st := s.sender.Status()
		return fmt.Sprintf("%+v", st), st.Gaps == 1 && !st.Earliest.IsZero()
	})
	last := s.set("after")
	s.quiet()
	r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{})
	if err != nil || len(r.Gaps) != 1 || !strings.Contains(r.Gaps[0].Reason, "no longer kept") {
		t.Errorf("%+v, %v", r, err)
	}
	s.compare([]state{first, last})
	_, err = moments.Restore(t.Context(), s.archive(), moments.Moment{Time: lost}, filepath.Join(t.TempDir(), "db"), moments.RestoreOptions{})
	if !errors.Is(err, moments.ErrNoMoment) || !strings.Contains(err.Error(), "in a gap") {
		t.Errorf("the lost moment: %v", err)
	}
}

// A write returns when it is in the archive, if it should. While the archive is away it fails, or returns all the same.
func TestAWriteWaitsForTheArchive(t *testing.T) {
	t.Parallel()
	for _, mode := range []standby.SemiSyncMode{standby.SemiSyncStrict, standby.SemiSyncDegrade} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			s := newSource(t)
			s.close()
			s.target, s.semi = store.target(), standby.SemiSync{Mode: mode, Archive: true, Timeout: 300 * time.Millisecond}
			if s.o.Every = 20 * time.Millisecond; mode == standby.SemiSyncStrict {
				s.o.Every = time.Hour // writes that wait are sent at once
			}
			s.open()
			s.send()
			set := func() error {
				m := write.NewMutation()
				m.Set("meta", "n", cells.I64(1))
				return s.db.Table("fleet").Apply(t.Context(), "plane", m)
			}
			await(t, "acknowledged writes", func() (string, bool) {
				err := set()
				return fmt.Sprint(err), err == nil && s.sender.Status().Position >= uint64(s.store.Latest())
			})
			for range 5 {
				at := uint64(s.store.Latest()) + 1 // of the write, or of one of the engine's own before it
				must(t, set())
				if sent := s.sender.Status().Position; sent < at {
					t.Errorf("a write has returned at position %d, and the archive has %d", at, sent)
				}
			}
			store.set(func() { store.away = true })
			err := set()
			if failed := err != nil; failed != (mode == standby.SemiSyncStrict) {
				t.Errorf("while the archive is away: %v", err)
			}
			await(t, "a sender that has given up for now", func() (string, bool) { // it tries again soon, however long it gathers
				err := s.sender.Status().Err
				return fmt.Sprint(err), err != nil
			})
			store.set(func() { store.away = false })
			await(t, "the archive", func() (string, bool) {
				err := set()
				st := s.sender.Status()
				return fmt.Sprint(err, st), err == nil && st.Online && st.Position >= uint64(s.store.Latest())
			})
		})
	}
}

// A restore of a table ends with its context, at whichever request the store stops to answer, and leaves nothing.
func TestARestoreEndsWithItsContext(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	s := newSourceAt(t, store.target())
	s.sent()
	s.set("plane")
	load(t, s.db, "fleet", "meta", map[string]int64{"loaded": 1})
	s.sent()
	s.quiet()
	local, dir := moments.Local{Local: archive.Local{DB: s.db}}, t.TempDir()
	restore := func(ctx context.Context, as string) error {
		_, err := local.RestoreTable(ctx, s.target, moments.TableRestore{Table: "fleet", As: as, At: new(moments.Moment), Dir: dir}, moments.RestoreOptions{})
		return err
	}
	for n := 1; ; n++ { // until a restore has ended before its request n
		ctx, leave := context.WithCancel(t.Context())
		hung, left := make(chan struct{}), make(chan time.Time, 1)
		store.set(func() { store.hangs, store.hung = store.requests+n, hung })
		go func() {
			select {
			case <-hung:
			case <-ctx.Done():
			}
			left <- time.Now()
			leave()
		}()
		err := restore(ctx, "cut")
		store.set(func() { store.hangs = 0 })
		if err == nil {
			leave()
			if n < 5 {
				t.Errorf("a restore ended with its request %d", n-1)
			}
			return
		}
		if took := time.Since(<-left); query.KindOf(err) != query.KindCanceled || took > 5*time.Second {
			t.Fatalf("request %d hangs: it ended after %v: %v", n, took, err)
		}
		if _, there := s.db.LookupTable("cut"); there {
			t.Fatalf("request %d hangs: a table was made", n)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Fatalf("request %d hangs: %v is left, %v", n, files, err)
		}
	}
}

// A store whose lists do not show the newest objects yet loses no moment: names are given once, so a sender that begins finds out that its
// number is taken, and a restore of a moment that is not shown yet is refused.
func TestAStoreThatListsLate(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	s := newSourceAt(t, store.target())
	s.sent()
	first := s.set("first")
	s.set("behind")
	store.set(func() { store.late = 300 * time.Millisecond })
	var states []state
	for i := range 4 {
		states = append(states, s.set(fmt.Sprint("plane", i)))
		s.quiet()
		if i%2 == 1 { // what is merged is shown late, too
			time.Sleep(2 * store.late)
			_, err := moments.Merge(t.Context(), s.archive(), s.clock.now().Add(48*time.Hour))
			must(t, err)
		}
		s.send() // and lists what is there
		s.sent()
	}
	s.compare([]state{first})
	s.quiet()
	store.set(func() { store.late = 0 })
	if r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{}); err != nil || len(r.Gaps) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	s.compare(append(states, first))
}
