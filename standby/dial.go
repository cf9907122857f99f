package standby

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/query"
)

// A link is a connection to a primary.
type link struct {
	smolwcpb.StandbysClient
	conn  *grpc.ClientConn
	token string
	tls   bool
}

// dial makes a link. It connects with the first call, and again after retry, then more
// rarely.
func dial(addr, token string, config *tls.Config, retry time.Duration) (*link, error) {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: mostWait, Backoff: backoff.Config{BaseDelay: retry, Multiplier: 1.6, Jitter: 0.2, MaxDelay: mostWait}}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*messageBytes+pieceBytes)))
	if err != nil {
		return nil, err
	}
	return &link{smolwcpb.NewStandbysClient(conn), conn, token, config != nil}, nil
}

// explain adds to an error of a call what the operator of the standby can do.
func (l *link) explain(err error) error {
	if err == nil {
		return nil
	}
	says, do := err.Error(), ""
	if s, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		says = s.GRPCStatus().Message()
	}
	switch code := status.Code(err); {
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		do = "a standby needs a token of its primary with the right to administer all tables, in $SMOLWC_TOKEN"
	case code == codes.Unimplemented:
		do = "its smolwc is too old for standbys, or it is another program"
	case strings.Contains(says, "looked like an HTTP/1.1 header"):
		do = "this looks like its --http, and a standby needs its --addr"
	case !l.tls && strings.Contains(says, "reading server preface"):
		do = "if it serves with TLS, give --standby-tls or --standby-ca"
	case l.tls && strings.Contains(says, "first record does not look like a TLS handshake"):
		do = "it serves without TLS: leave out --standby-tls, --standby-ca and --standby-cert"
	case strings.Contains(says, "certificate required"):
		do = "it wants a certificate: give --standby-cert and --standby-key"
	case strings.Contains(says, "certificate signed by unknown authority"):
		do = "--standby-ca names the file with its authority"
	}
	if do != "" {
		says += "; " + do
	}
	return &explained{says, err}
}

// An explained error is the error of a call in plainer words.
type explained struct {
	text string
	error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.error }

// context adds the token to a call.
func (l *link) context(ctx context.Context) context.Context {
	if l.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+l.token)
}

// ErrTokens says that a standby lacks tokens while its primary requires them: everybody
// could read at the standby, and write once it is promoted.
var ErrTokens = errors.New("a standby of a server that requires a token needs tokens too")

// tokensWait bounds how long to wait for a primary to say whether it requires a token.
const tokensWait = 5 * time.Second

// RequiresToken reports whether the server at an address requires a token of its standbys.
// If config is nil it is asked without TLS. An error says that it did not answer, which
// takes up to 5 seconds.
func RequiresToken(ctx context.Context, addr string, config *tls.Config) (bool, error) {
	if ctx == nil || addr == "" {
		return false, &query.Error{Op: "ask for tokens", Kind: query.KindInvalidArgument, Err: errors.New("it needs a context and an address")}
	}
	l, err := dial(addr, "", config, time.Second)
	if err != nil {
		return false, err
	}
	defer func() { _ = l.conn.Close() }()
	ctx, stop := context.WithTimeout(ctx, tokensWait)
	defer stop()
	_, err = l.ListReplicas(ctx, new(smolwcpb.ListReplicasRequest))
	switch status.Code(err) {
	case codes.Unauthenticated:
		return true, nil
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return false, l.explain(err)
	}
	return false, nil
}
