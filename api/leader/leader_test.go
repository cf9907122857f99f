package leader_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/leader"
)

func TestOf(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct {
		name    string
		answers []leader.Answer
		want    string
	}{
		{"none", nil, ""},
		{"not asked yet", []leader.Answer{{Addr: "a"}}, ""},
		{"one leads", []leader.Answer{{Addr: "a"}, {Addr: "b", Leads: true, Epoch: 1}}, "b"},
		{"it has gone", []leader.Answer{{Addr: "a"}, {Addr: "b", Leads: true, Epoch: 1, Err: down}}, ""},
		{"one does not know that another one was promoted", []leader.Answer{{Addr: "a", Leads: true, Epoch: 1}, {Addr: "b", Leads: true, Epoch: 2}}, "b"},
		{"two without standbys", []leader.Answer{{Addr: "a", Leads: true}, {Addr: "b", Leads: true}}, "a"},
	} {
		got, ok := leader.Of(c.answers)
		if got.Addr != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q leads, %v; want %q", c.name, got.Addr, ok, c.want)
		}
	}
}

// A server answers health checks.
type server struct {
	grpc_health_v1.UnimplementedHealthServer
	addr   string
	header atomic.Pointer[metadata.MD]
	slow   atomic.Bool
	asked  atomic.Int64
}

func serve(t *testing.T, header ...string) *server {
	t.Helper()
	s := new(server)
	s.says(header...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	g := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return s
}

func (s *server) says(header ...string) {
	md := metadata.Pairs(header...)
	s.header.Store(&md)
}

// Check implements grpc_health_v1.HealthServer.
func (s *server) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	s.asked.Add(1)
	if s.slow.Load() {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, grpc.SetHeader(ctx, *s.header.Load())
}

func dial(t *testing.T, addr string, o ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, append(o, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestAsk(t *testing.T) {
	s := serve(t)
	conn := dial(t, s.addr)
	if a := leader.Ask(t.Context(), s.addr, conn); a.Err != nil || !a.Leads || a.Epoch != 0 {
		t.Errorf("a server without standbys: %+v", a)
	}
	s.says("smolwc-position", "3-51204")
	if a := leader.Ask(t.Context(), s.addr, conn); a.Err != nil || !a.Leads || a.Epoch != 3 {
		t.Errorf("a primary: %+v", a)
	}
	s.says("smolwc-position", "3-51200", "smolwc-leader", "db1:8086", "smolwc-lag", "250ms")
	if a := leader.Ask(t.Context(), s.addr, conn); a.Err != nil || a.Leads || a.Leader != "db1:8086" || a.Lag != 250*time.Millisecond {
		t.Errorf("a standby: %+v", a)
	}
	if a := leader.Ask(t.Context(), "127.0.0.1:1", dial(t, "127.0.0.1:1")); a.Err == nil || a.Leads || !strings.Contains(a.String(), "does not answer") {
		t.Errorf("nobody: %v", a)
	}
}

// A server that has much to do, and answers late, goes on leading.
func TestALateAnswerChangesNothing(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan leader.Answer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		leader.Follow(ctx, s.addr, dial(t, s.addr), nil, func(a leader.Answer) {
			select {
			case heard <- a:
			case <-ctx.Done():
			}
		})
	}()
	first := <-heard
	s.slow.Store(true)
	asked := s.asked.Load()
	for s.asked.Load() < asked+2 { // the second one was asked when the first one was late
		if a := <-heard; a.Err == nil && !a.Leads || !first.Leads {
			t.Fatalf("it answers late: %+v", a)
		}
	}
	cancel()
	<-done
}

// A connection goes to the server that leads, and to another one when that one leads.
func TestAConnectionFollowsTheLeader(t *testing.T) {
	a, b := serve(t), serve(t, "smolwc-leader", "a")
	conn := dial(t, leader.Scheme+":///"+b.addr+","+a.addr,
		grpc.WithResolvers(&leader.Resolver{Options: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}}))
	leads := func() bool {
		var header metadata.MD
		_, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest), grpc.Header(&header), grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		return len(header.Get("smolwc-leader")) == 0 && len(header.Get("smolwc-position")) == 0
	}
	if !leads() {
		t.Error("the first call goes to a standby")
	}
	a.says("smolwc-leader", b.addr, "smolwc-position", "1-7")
	b.says()
	for !leads() {
		time.Sleep(time.Millisecond)
	}
}

func TestNobodyLeads(t *testing.T) {
	a, b := serve(t, "smolwc-leader", ""), serve(t, "smolwc-leader", "db1:8086")
	conn := dial(t, leader.Scheme+":///"+a.addr+","+b.addr,
		grpc.WithResolvers(&leader.Resolver{Options: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}}))
	_, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
	if err == nil || !strings.Contains(err.Error(), "no server takes writes now: "+a.addr+" takes no writes; "+b.addr+" takes no writes and names db1:8086") {
		t.Errorf("a call: %v", err)
	}
}
