package standby

import (
	"context"
	"crypto/tls"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/server/smolwcpb"
)

// A link is a connection to a primary.
type link struct {
	smolwcpb.StandbysClient
	conn  *grpc.ClientConn
	token string
}

// dial makes a link. It connects with the first call.
func dial(addr, token string, config *tls.Config) (*link, error) {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*messageBytes+pieceBytes)))
	if err != nil {
		return nil, err
	}
	return &link{smolwcpb.NewStandbysClient(conn), conn, token}, nil
}

// context adds the token to a call.
func (l *link) context(ctx context.Context) context.Context {
	if l.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+l.token)
}
