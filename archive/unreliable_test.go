package archive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// An unreliable is a proxy of an S3 server that answers some requests with an error,
// drops some connections before the server sees the request, some after the server has
// carried out the request, and some in the middle of the answer.
type unreliable struct {
	*httptest.Server
	mu     sync.Mutex
	r      *rand.Rand
	share  float64 // the share of requests that fail
	lost   string  // in the path of a PUT whose answer is dropped, once
	faults map[string]int
}

// proxy passes requests on to the server. Each has its own connection: one that stayed open
// may be closed, also by another test, just when a request uses it.
func (g *gateway) proxy(t *testing.T) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: g.addr})
			r.Out.Host = r.In.Host // the signature covers it
		},
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // the client waits
				t.Logf("%s %s did not reach the server: %v", r.Method, r.URL.Path, err)
			}
			panic(http.ErrAbortHandler)
		},
	}
}

func newUnreliable(t *testing.T, g *gateway, seed uint64) *unreliable {
	t.Helper()
	u := &unreliable{r: rand.New(rand.NewPCG(seed, 7)), faults: map[string]int{}}
	proxy := g.proxy(t)
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch u.fault(r) {
		case "500":
			w.WriteHeader(http.StatusInternalServerError)
		case "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "dropped":
			panic(http.ErrAbortHandler)
		case "done and dropped":
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case "cut":
			proxy.ServeHTTP(&cutting{w, 200}, r)
		case "slow":
			time.Sleep(50 * time.Millisecond)
			proxy.ServeHTTP(w, r)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	u.Config.ErrorLog = nil
	t.Cleanup(u.Close)
	return u
}

// fault draws the fault of a request, "" for none.
func (u *unreliable) fault(r *http.Request) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lost != "" && r.Method == http.MethodPut && strings.Contains(r.URL.Path, u.lost) {
		u.lost = ""
		return "done and dropped"
	}
	if u.r.Float64() >= u.share {
		return ""
	}
	kind := []string{"500", "503", "dropped", "done and dropped", "cut", "slow"}[u.r.IntN(6)]
	u.faults[kind+" "+r.Method]++
	return kind
}

func (u *unreliable) set(share float64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.share = share
}

// A cutting drops the connection after some bytes of the answer.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// TestALostAnswer: if the server carried out a request but its answer was lost, a
// backup still recognises its own lock and manifest.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	u := newUnreliable(t, g, 1)
	a := openArchive(t, "s3://bucket/lost?endpoint="+u.URL)
	archive.Hasty(t, a)
	db := openDB(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: testSchema()})
	for i, what := range []string{"/lock", "/generations/", "/objects/"} {
		change(t, db, rand.New(rand.NewPCG(1, uint64(i))), 5)
		u.lost = what
		res, err := a.Backup(t.Context(), db, archive.BackupOptions{})
		if err != nil || res.ID != i+1 || u.lost != "" {
			t.Errorf("%s: %+v, %v, left %q", what, res, err, u.lost)
		}
	}
	if report, err := a.Verify(t.Context(), archive.Options{}); err != nil || report.Generations != 3 || report.Unused != 0 {
		t.Errorf("verify %+v, %v", report, err)
	}
}

// TestAnInterruptedBackupGivesItsLockBack: also if the server has given the lock, but
// its answer has not arrived when the context ends.
func TestAnInterruptedBackupGivesItsLockBack(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	proxy := g.proxy(t)
	for i, at := range []string{"/lock", "/objects/", "/generations/"} {
		t.Run(strings.Trim(at, "/"), func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut && strings.Contains(r.URL.Path, at) && ctx.Err() == nil {
					proxy.ServeHTTP(httptest.NewRecorder(), r)
					interrupt()
					<-r.Context().Done() // the client does not wait for the answer
					return
				}
				proxy.ServeHTTP(w, r)
			}))
			t.Cleanup(u.Close)
			target := fmt.Sprint("s3://bucket/interrupted", i)
			db := openDB(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: testSchema(), Durability: query.DurabilityAsync})
			_, err := openArchive(t, target+"?endpoint="+u.URL).Backup(ctx, db, archive.BackupOptions{})
			if query.KindOf(err) != query.KindCanceled {
				t.Errorf("interrupted: %v", err)
			}
			if h, err := openArchive(t, target+"?endpoint=http://"+g.addr).Holder(t.Context()); h != nil || err != nil {
				t.Errorf("the lock is still held: %+v, %v", h, err)
			}
		})
	}
}

// TestAServerThatTakesNothingMore: a backup ends when the server stops reading or
// answering, but not because it takes long; the next backup continues.
func TestAServerThatTakesNothingMore(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	proxy := g.proxy(t)
	for _, c := range []struct{ name, at string }{
		{"it takes no object", "/objects/"},
		{"it answers no manifest", "/generations/"},
		{"it takes no lock", "/lock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stuck atomic.Value // the part of a path at which the server stops
			stuck.Store("none")
			over := make(chan struct{})
			u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				big := r.ContentLength > 2<<20 || !strings.Contains(r.URL.Path, "/objects/")
				if r.Method == http.MethodPut && big && strings.Contains(r.URL.Path, stuck.Load().(string)) {
					<-over
					panic(http.ErrAbortHandler)
				}
				proxy.ServeHTTP(w, r)
			}))
			t.Cleanup(u.Close)
			a := openArchive(t, "s3://bucket/"+c.at[1:4]+"?endpoint="+u.URL)
			impatient := openArchive(t, a.Target())
			archive.Impatient(t, impatient)
			db := openDB(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: testSchema(), Durability: query.DurabilityAsync})
			change(t, db, rand.New(rand.NewPCG(1, 1)), 5)
			if err := db.Table("fleet").Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			m := write.NewMutation()
			for i := range 5 { // more than the kernel buffers for a server
				m.Set("meta", fmt.Sprint("big", i), cells.Bytes(randomBytes(rand.New(rand.NewPCG(1, uint64(i))), 4<<20)))
			}
			if err := db.Table("fleet").Apply(t.Context(), "big", m); err != nil {
				t.Fatal(err)
			}
			stuck.Store(c.at)
			_, err := impatient.Backup(t.Context(), db, archive.BackupOptions{})
			if !errors.Is(err, archive.ErrUnreachable) || query.KindOf(err) != query.KindUnavailable {
				t.Errorf("error %v, want %v", err, archive.ErrUnreachable)
			}
			t.Log(err)
			stuck.Store("none")
			close(over)
			if list, err := a.List(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("listed %+v, %v", list, err)
			}
			res, err := a.Backup(t.Context(), db, archive.BackupOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if c.at == "/generations/" && res.SentBytes >= 20<<20 {
				t.Errorf("%d bytes were sent again", res.SentBytes)
			}
			if report, err := a.Verify(t.Context(), archive.Options{}); err != nil || report.Generations != 1 {
				t.Errorf("verify %+v, %v", report, err)
			}
		})
	}
}

// TestAnUnreliableServer: backups to a server that fails every eighth request succeed
// or report the cause, listed backups are whole, and restores return the backed up
// data.
func TestAnUnreliableServer(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	u := newUnreliable(t, g, seed)
	ctx, dir := t.Context(), t.TempDir()
	a := openArchive(t, "s3://bucket/unreliable?endpoint="+u.URL)
	archive.Hasty(t, a)
	db := openDB(t, filepath.Join(dir, "db"), query.Options{Schema: testSchema(), Durability: query.DurabilityAsync})
	r := rand.New(rand.NewPCG(seed, 0))
	excused := func(what string, err error) {
		t.Helper()
		if err != nil && !errors.Is(err, archive.ErrUnreachable) {
			t.Errorf("%s: %v (%s)", what, err, query.KindOf(err))
		}
	}
	moments := map[int][]string{}
	succeeded := 0
	for range 2 {
		change(t, db, r, 20)
		want := dump(t, db)
		u.set(0.12)
		res, err := a.Backup(ctx, db, archive.BackupOptions{Keep: 3})
		excused("backup", err)
		if err == nil {
			succeeded++
		}
		u.set(0)
		list, listErr := a.List(ctx)
		if listErr != nil {
			t.Fatal(listErr)
		}
		if err == nil && (len(list) == 0 || list[len(list)-1].ID != res.ID) {
			t.Fatalf("backup %d succeeded and is not listed: %+v", res.ID, list)
		}
		if len(list) > 0 {
			last := list[len(list)-1].ID
			if moments[last] == nil {
				moments[last] = want // also when its answer never came
			}
		}
		if report, err := a.Verify(ctx, archive.Options{}); err != nil {
			t.Fatalf("verify: %+v, %v", report, err)
		}
	}
	if succeeded == 0 {
		t.Error("no backup succeeded")
	}
	list, err := a.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u.set(0.12)
	for _, g := range list[max(0, len(list)-1):] {
		to := filepath.Join(dir, "restored", strings.Repeat("x", g.ID))
		_, err := a.Restore(ctx, g.ID, to, archive.RestoreOptions{})
		excused("restore", err)
		if err == nil {
			restored := openDB(t, to, query.Options{MustExist: true})
			expectSame(t, "restored", dump(t, restored), moments[g.ID])
		}
		_, err = a.Verify(ctx, archive.Options{})
		excused("verify", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	t.Logf("went wrong: %v", u.faults)
}
