package standby_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/standby"
)

// A flipping service changes one message on its way, in either direction.
type flipping struct {
	standbys.Service
	flip    func(m any) (flipped bool)
	flipped atomic.Bool
}

func (f *flipping) pass(m any, err error) error {
	if err == nil && !f.flipped.Load() && f.flip(m) {
		f.flipped.Store(true)
	}
	return err
}

func (f *flipping) Copy(req *smolwcpb.CopyRequest, s smolwcpb.Standbys_CopyServer) error {
	return f.Service.Copy(req, flippedFiles{s, f})
}

func (f *flipping) Load(req *smolwcpb.LoadRequest, s smolwcpb.Standbys_LoadServer) error {
	_ = f.pass(req, nil)
	return f.Service.Load(req, flippedFiles{s, f})
}

func (f *flipping) Follow(s smolwcpb.Standbys_FollowServer) error {
	return f.Service.Follow(flippedLog{s, f})
}

func (f *flipping) Sums(s smolwcpb.Standbys_SumsServer) error {
	return f.Service.Sums(flippedSums{s, f})
}

type flippedFiles struct {
	smolwcpb.Standbys_CopyServer
	f *flipping
}

func (s flippedFiles) Send(m *smolwcpb.CopyResponse) error {
	_ = s.f.pass(m, nil)
	return s.Standbys_CopyServer.Send(m)
}

type flippedLog struct {
	smolwcpb.Standbys_FollowServer
	f *flipping
}

func (s flippedLog) Recv() (*smolwcpb.FollowRequest, error) {
	m, err := s.Standbys_FollowServer.Recv()
	return m, s.f.pass(m, err)
}

func (s flippedLog) Send(m *smolwcpb.FollowResponse) error {
	_ = s.f.pass(m, nil)
	return s.Standbys_FollowServer.Send(m)
}

type flippedSums struct {
	smolwcpb.Standbys_SumsServer
	f *flipping
}

func (s flippedSums) Recv() (*smolwcpb.SumsRequest, error) {
	m, err := s.Standbys_SumsServer.Recv()
	return m, s.f.pass(m, err)
}

func (s flippedSums) Send(m *smolwcpb.SumsResponse) error {
	_ = s.f.pass(m, nil)
	return s.Standbys_SumsServer.Send(m)
}

// The id of a load, or the name of one of its files, changes on the way. The standby tries
// again, and is not copied.
func TestAFlippedNameOfALoad(t *testing.T) {
	for name, flip := range map[string]func(any) bool{
		"of a load": func(m any) bool {
			req, ok := m.(*smolwcpb.LoadRequest)
			if ok {
				req.Id = "A" + req.GetId()[1:]
				if m := req.GetId(); m[1] == 'A' {
					req.Id = "B" + m[1:]
				}
			}
			return ok
		},
		"of a file": func(m any) bool {
			resp, ok := m.(*smolwcpb.CopyResponse)
			if ok = ok && resp.GetFile() != nil; ok {
				resp.File.Name += "x"
			}
			return ok
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f", "g"))
			dir := filepath.Join(t.TempDir(), "standby")
			must(t, follow(t, dir, p.addr).Close())
			f := &flipping{Service: p.primary.Service(), flip: flip}
			s := follow(t, dir, serveAt(t, f))
			load(t, p.db, "a", 0, 10, "loaded")
			awaitEqual(t, p.db, s)
			if !f.flipped.Load() {
				t.Error("nothing has changed")
			}
		})
	}
}

// The name of a standby changes on the way. It would be that of another one, which may take
// over by what this one has acknowledged.
func TestAFlippedNameOfAStandby(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	f := &flipping{Service: p.primary.Service(), flip: func(m any) bool {
		req, ok := m.(*smolwcpb.FollowRequest)
		if ok = ok && req.GetHello() != nil; ok {
			req.Hello.Name = "tesu"
		}
		return ok
	}}
	s := follow(t, filepath.Join(t.TempDir(), "standby"), serveAt(t, f))
	must(t, try(t, p.db, "row"))
	awaitEqual(t, p.db, s)
	for _, r := range describe(t, p).GetReplicas() {
		if r.GetName() != "test" {
			t.Errorf("a standby is called %q", r.GetName())
		}
	}
}

// The name of a file of a copy changes on the way. The copy fails before anybody looks at what
// it lacks: without its log, or with the name of an older one, it could be opened.
func TestAFlippedNameOfACopiedFile(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	f := &flipping{Service: p.primary.Service(), flip: func(m any) bool {
		resp, ok := m.(*smolwcpb.CopyResponse)
		if ok = ok && strings.HasSuffix(resp.GetFile().GetName(), ".sst"); ok {
			resp.File.Name = "000001.sst"
		}
		return ok
	}}
	dir, addr := filepath.Join(t.TempDir(), "standby"), serveAt(t, f)
	if _, err := standby.Open(t.Context(), dir, standby.Options{Primary: addr}); !errors.Is(err, standby.ErrNotYet) || !strings.Contains(err.Error(), "changed on the way") {
		t.Errorf("the copy: %v", err)
	}
	awaitEqual(t, p.db, follow(t, dir, addr))
}

// The position at which the tail of a primary begins changes on the way.
func TestAFlippedBeginningOfATail(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	after := s.Position()
	must(t, s.Redirect("127.0.0.1:1"))
	must(t, try(t, p.db, "tail"))
	p.close()
	n := promote(t, s, dir)
	f := &flipping{Service: n.primary.Service(), flip: func(m any) bool {
		resp, ok := m.(*smolwcpb.FollowResponse)
		if ok = ok && resp.GetOwnAfter() != 0; ok {
			resp.OwnAfter++
		}
		return ok
	}}
	awaitEqual(t, n.db, rebuild(t, follow(t, p.dir, serveAt(t, f)), "are its own"))
	if text, err := os.ReadFile(filepath.Join(p.dir+".diverged", "DIVERGED")); err != nil || !strings.Contains(string(text), fmt.Sprintf(`"after":%d,`, after)) {
		t.Errorf("%s, %v", text, err)
	}
}

// What changes on the way while a standby is compared makes no difference.
func TestAFlippedSum(t *testing.T) {
	asked := func(fn func(*smolwcpb.SumsRequest) bool) func(any) bool {
		return func(m any) bool { r, ok := m.(*smolwcpb.SumsRequest); return ok && fn(r) }
	}
	answered := func(fn func(*smolwcpb.SumsResponse) bool) func(any) bool {
		return func(m any) bool { r, ok := m.(*smolwcpb.SumsResponse); return ok && fn(r) }
	}
	for name, flip := range map[string]func(any) bool{
		"family": asked(func(m *smolwcpb.SumsRequest) bool {
			is := len(m.GetRange().GetFamilies()) > 0
			if is {
				m.Range.Families[0].Name = "b/f"
			}
			return is
		}),
		"start": asked(func(m *smolwcpb.SumsRequest) bool {
			is := len(m.GetRange().GetFamilies()) > 0
			if is {
				m.Range.Start = []byte("z")
			}
			return is
		}),
		"result": asked(func(m *smolwcpb.SumsRequest) bool {
			is := m.GetRange() != nil
			if is {
				m.Range, m.Result = nil, new(smolwcpb.Verification)
			}
			return is
		}),
		"position": answered(func(m *smolwcpb.SumsResponse) bool {
			is := m.GetPosition() != 0
			if is {
				m.Position++
			}
			return is
		}),
		"rows": answered(func(m *smolwcpb.SumsResponse) bool {
			is := m.GetSum().GetRows() == 1
			if is {
				m.Sum.Rows = 0
			}
			return is
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			f := &flipping{Service: p.primary.Service(), flip: flip}
			s := follow(t, filepath.Join(t.TempDir(), "standby"), serveAt(t, f))
			must(t, try(t, p.db, "row"))
			awaitEqual(t, p.db, s)
			failed := make(chan error, 1)
			go func() { _, err := s.Verify(t.Context(), nil); failed <- err }()
			await(t, "nothing changes", f.flipped.Load)
			must(t, try(t, p.db, "row")) // so that there is a later position
			if err := <-failed; status.Code(err) != codes.Unavailable {
				t.Errorf("the comparison: %v", err)
			}
			must(t, s.Err())
			if v, err := s.Verify(t.Context(), nil); err != nil || !v.Equal() {
				t.Errorf("the next comparison: %v, %v", v, err)
			}
		})
	}
}
