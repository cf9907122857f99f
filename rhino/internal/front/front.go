// Package front answers clients: it knows their tenants by their tokens, and passes
// their requests on to its region and to the control.
package front

import (
	"context"
	"errors"
	"sync"

	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/link"
)

// A Front is the door of a region for clients.
type Front struct {
	Region  string
	Home    link.Peer // the region
	Control link.Peer
}

// A Session is the connection of a client.
type Session struct {
	*Front
	mu     sync.Mutex
	tenant string // "" before a login
}

// Session begins a session.
func (f *Front) Session() *Session { return &Session{Front: f} }

// InOrder says that requests after a Login wait for it.
func InOrder(m rhino.Message) bool {
	_, ok := m.(rhino.Login)
	return ok
}

// Known reports whether there is a tenant.
func (s *Session) Known() bool { return s.current() != "" }

// Close does nothing.
func (s *Session) Close() {}

func (s *Session) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenant
}

// Serve answers a request.
func (s *Session) Serve(ctx context.Context, m rhino.Message) rhino.Message {
	tenant := s.current()
	if login, ok := m.(rhino.Login); ok {
		if tenant != "" {
			return rhino.AlreadyLoggedIn
		}
		return s.login(ctx, login)
	}
	if tenant == "" {
		return rhino.NotLoggedIn
	}
	switch m := m.(type) {
	case rhino.CreateShard:
		return s.create(ctx, rhino.AddShardToGlobalRouting{TenantID: tenant, ShardName: m.Name, Region: m.Region})
	case rhino.CreateTable:
		return s.create(ctx, rhino.AddGlobalTableSchema{TenantID: tenant, TableName: m.Name, PK: m.PK})
	case rhino.SetRow:
		return s.home(ctx, &m.Place, tenant, func() rhino.Message { return m })
	case rhino.GetRow:
		return s.home(ctx, &m.Place, tenant, func() rhino.Message { return m })
	case rhino.DeleteRow:
		return s.home(ctx, &m.Place, tenant, func() rhino.Message { return m })
	case rhino.GetRows:
		return s.home(ctx, &m.Place, tenant, func() rhino.Message { return m })
	}
	return rhino.InvalidRequest{Reason: "a front does not take " + rhino.Name(m)}
}

// login asks the region for the tenant: a token that has not arrived there is invalid.
func (s *Session) login(ctx context.Context, m rhino.Login) rhino.Message {
	reply := call(ctx, s.Home, rhino.GetTenantIdByToken(m))
	t, ok := reply.(rhino.TenantIdByToken)
	if !ok {
		return reply
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenant = t.TenantID
	return rhino.LoggedIn{Region: s.Region}
}

// create asks the control, and says its reply in the words for clients.
func (s *Session) create(ctx context.Context, m rhino.Message) rhino.Message {
	reply := call(ctx, s.Control, m)
	switch reply {
	case rhino.ShardAddedToGlobalRouting:
		return rhino.ShardCreated
	case rhino.ShardRoutingAlreadyExists:
		return rhino.ShardAlreadyExists
	case rhino.GlobalTableSchemaAdded:
		return rhino.TableCreated
	}
	return reply
}

// home passes a request about rows on to the region, with its tenant.
func (s *Session) home(ctx context.Context, p *rhino.Place, tenant string, request func() rhino.Message) rhino.Message {
	if p.TenantID != "" || p.Forwarded {
		return rhino.InvalidRequest{Reason: "tenant_id and forwarded are not for clients: the tenant is that of the login"}
	}
	p.TenantID = tenant
	return call(ctx, s.Home, request())
}

func call(ctx context.Context, peer link.Peer, m rhino.Message) rhino.Message {
	reply, err := peer.Call(ctx, m)
	if _, wrong := errors.AsType[*rhino.Error](err); wrong {
		return rhino.InvalidRequest{Reason: err.Error()}
	}
	if err != nil {
		return rhino.PleaseRetry{Reason: err.Error()}
	}
	return reply
}
