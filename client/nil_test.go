package client_test

import (
	"context"
	"net"
	"reflect"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{client.CheckInstance, client.Dial, client.Async, client.SemiSync},
		Types: []any{client.Options{}, (*client.Session)(nil)},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) *client.Client { return newClient(t) },
			func(t testing.TB) *client.Table { return newClient(t).Table("t") },
		},
		Judge: func(c nilcheck.Call) string {
			if c.Fails && c.Nil && slices.Contains(needed, c.Spoilt) && c.Name != "Client.Close" && query.KindOf(c.Err) != query.KindInvalidArgument {
				return "the error is not one of a wrong argument"
			}
			return ""
		},
	}
	p.Run(t, ".")
}

// needed are the types of the arguments that are always required.
var needed = []reflect.Type{
	reflect.TypeFor[context.Context](), reflect.TypeFor[*client.Client](), reflect.TypeFor[*client.Table](),
}

// newClient is a client of a server with a table that is named t.
func newClient(t testing.TB) *client.Client {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := server.New(db, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	c, err := client.Dial(l.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		<-done
	})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}
