package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/status"
)

// HTTP are the pages for monitoring, and two APIs:
//
//	/metrics  in Prometheus's form
//	/healthz  200 as long as the process answers
//	/readyz   200 when calls are taken; 503, with the reason, when not. With
//	          ?max-lag=5s also when a standby is further behind its primary, with
//	          ?leader also when another server takes the writes
//	/v1       rows and tables, as in Smoltable's JSON API
//	/v2       app profiles, as in the REST form of Bigtable's admin API
//	/test     the controls of the server's [TestMode], if any
//
// The pages for monitoring show the names of tables, but none of their contents. They, and
// the controls, need no token, and answer as [AnswersTo] says. The APIs need the rights that
// the same calls over gRPC need. [Server.ServePages] serves all of them within the server's
// limits.
func (s *Server) HTTP() http.Handler {
	mux, open := http.NewServeMux(), http.NewServeMux()
	if !s.made() {
		return mux
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkHost(r); err != nil {
			http.Error(w, status.Convert(err).Message(), http.StatusForbidden)
			return
		}
		open.ServeHTTP(w, r)
	})
	open.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true}))
	open.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "/metrics\n/healthz\n/readyz\n") // fails if the client is gone
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "") })
	s.test.pages(open)
	s.restPages(mux)
	s.jsonPages(mux)
	open.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		answer(w, cmp.Or(s.notReady(r.Context()), s.unarchived(), s.unled(r.Context()), s.late(r.Context(), r.URL.Query()), s.follows(r.URL.Query())))
	})
	return mux
}

func answer(w http.ResponseWriter, problem string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if problem != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, problem) // fails if the client is gone
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

// unarchived says that writes fail since they wait for an archive that is away; "" if they do not. Otherwise nothing stops while it
// is away.
func (s *Server) unarchived() string {
	if s.moments == nil {
		return ""
	}
	if st := s.moments.Status(); st.Strict && !st.Online {
		return fmt.Sprintf("no write is acknowledged: --continuous-sync is strict, and the archive %s is not reached: %v", st.Target, st.Err)
	}
	return ""
}

// A write of a row takes a few milliseconds. If none ends within stuck, a probe tells
// whether writes get through.
const (
	stuck     = 2 * time.Second
	probeWait = time.Second
)

// notReady says why clients should send no calls here, "" when they may.
func (s *Server) notReady(ctx context.Context) string {
	switch s.state.Load() {
	case stateNew:
		return "not serving yet"
	case stateStopping:
		return "stopping"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stats, err := s.catalog.DB.Stats(ctx)
	switch {
	case err != nil:
		return "the database does not answer: " + err.Error()
	case stats.Stalls.State.String() == "stopped":
		return "the database takes no writes now: compactions have fallen behind"
	case stats.WritesStuck >= stuck:
		// Those under way may only wait for each other's row: a write of another row decides.
		late, cancel := context.WithTimeout(ctx, probeWait)
		defer cancel()
		if err := s.catalog.DB.Plumbing().SetNote(late, "probe", nil); err != nil {
			return fmt.Sprintf("writes do not get through: %d are under way, and none has ended for %v: %v", stats.WritesUnderWay, stats.WritesStuck.Round(time.Millisecond), err)
		}
		return ""
	case stats.Work.Refused == nil:
		return ""
	}
	// A load balancer may keep all clients away until the server is ready, and then no
	// client's write would show that writes are accepted again.
	if err := s.catalog.DB.Plumbing().SetNote(ctx, "probe", nil); err != nil {
		return "the database takes no writes: " + err.Error()
	}
	return ""
}
