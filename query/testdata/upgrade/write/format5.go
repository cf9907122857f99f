//go:build !format3 && !format4 && !format6 && !format7

package main

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// enter makes the database a primary's. leave lets a standby copy it.
func enter(o *query.Options) (leave func(context.Context, string) error, err error) {
	primary := standby.NewPrimary(standby.PrimaryOptions{})
	o.Standbys = primary.Hook()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := grpc.NewServer()
	smolwcpb.RegisterStandbysServer(g, primary.Service())
	go func() { _ = g.Serve(l) }()
	return func(ctx context.Context, dir string) error {
		s, err := standby.Open(ctx, dir+".standby", standby.Options{Primary: l.Addr().String()})
		if err != nil {
			return err
		}
		err = s.Close()
		primary.Service().Stop()
		g.Stop()
		return err
	}, nil
}
