package server_test

import (
	"context"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			server.AnswersTo, server.CheckInstance, server.HistoryBounds, server.HistorySpans, server.New, server.NewTest, server.NewTestMode, server.OpenTokens, server.TokensIn, server.WithoutData,
		},
		Types: []any{server.Options{}, server.Token{}, server.TLSFiles{}, server.Grant{}, server.Refusal{}, server.Right(0), server.Test{}, server.TestModeOptions{}, (*server.Pages)(nil)},
		Fresh: []any{func(t testing.TB) *grpc.Server { return grpc.NewServer() }},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			usableDB,
			func(t testing.TB) *server.Server {
				s, err := server.New(usableDB(t), server.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return s
			},
			func(t testing.TB) *slog.Logger { return slog.New(slog.DiscardHandler) },
			func(t testing.TB) net.Listener { // which is closed: Serve ends at once
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				l.Close()
				return l
			},
		},
		Judge: func(c nilcheck.Call) string {
			if c.Fails && c.Nil && slices.Contains(needed, c.Spoilt) && query.KindOf(c.Err) != query.KindInvalidArgument {
				return "the error is not one of a wrong argument"
			}
			return ""
		},
	}
	p.Run(t, ".")
}

// needed are the types of the arguments that are always required.
var needed = []reflect.Type{
	reflect.TypeFor[context.Context](), reflect.TypeFor[net.Listener](), reflect.TypeFor[*query.DB](),
	reflect.TypeFor[*server.Server](),
}

func usableDB(t testing.TB) *query.DB {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
