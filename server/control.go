package server

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/server/smolwcpb"
)

// A control lets calls in by the tokens that they show.
type control struct {
	tokens *Tokens // nil: no call needs one
	logger *slog.Logger
}

// known reports whether a method is in the list of needs. No other may be called.
func known(method string) bool { return needs[method] != needUnknown }

// free reports whether a method needs nothing, not even a token.
func free(method string) bool { return needs[method] == needNothing }

// ofDatabase reports whether a method concerns the database as a whole.
func ofDatabase(method string) bool {
	return strings.HasPrefix(method, "/"+smolwcpb.DatabaseAdmin_ServiceDesc.ServiceName+"/")
}

// methods returns all methods of the list of needs, in no order.
func methods() []string { return slices.Collect(maps.Keys(needs)) }

// identify returns the token that a call shows, nil when it needs none. With an
// error, the token is the one that was refused.
func (c *control) identify(ctx context.Context, method string) (*Token, error) {
	if c.tokens == nil || free(method) {
		return nil, nil
	}
	required, err := c.tokens.required()
	if err != nil {
		c.logger.Error("the tokens cannot be read, so that nobody is let in", "err", err)
		return nil, status.Error(codes.Unauthenticated, "the tokens of this server cannot be read")
	}
	if !required {
		return nil, nil
	}
	secret, err := bearer(ctx)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	token, err := c.tokens.find(secret)
	if err != nil {
		return token, status.Error(codes.Unauthenticated, err.Error())
	}
	return token, nil
}

// bearer is the secret that a client shows.
func bearer(ctx context.Context) (string, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, v := range md.Get("authorization") {
		const scheme = "bearer "
		if len(v) > len(scheme) && strings.EqualFold(v[:len(scheme)], scheme) {
			return v[len(scheme):], nil
		}
	}
	return "", errNoToken
}

// check refuses a token that was good and no longer is; nil is good.
func (c *control) check(token *Token) error {
	if token == nil {
		return nil
	}
	if err := c.tokens.check(token); err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return nil
}

type tokenKey struct{}

// withToken returns the context of a call that was let in with a token; nil is a
// call that needs none.
func withToken(ctx context.Context, token *Token) context.Context {
	if token == nil {
		return ctx
	}
	return context.WithValue(ctx, tokenKey{}, token)
}

// tokenOf returns the token of a call, nil when it needs none.
func tokenOf(ctx context.Context) *Token {
	token, _ := ctx.Value(tokenKey{}).(*Token)
	return token
}

// authorize refuses a call whose token has no right to one of the resources that it
// is about. Without a token everything is allowed.
func authorize(token *Token, method string, resources []resource) error {
	right := needs[method].right()
	if token == nil || right == NoRight {
		return nil
	}
	for _, r := range resources {
		if !token.allows(right, r) {
			return status.Errorf(codes.PermissionDenied, "token %q has no right to %s %s%s", token.Name, right, r, whoHas(method))
		}
	}
	return nil
}

// whoHas says how an operator gets the right to what concerns the whole database.
func whoHas(method string) string {
	if !ofDatabase(method) {
		return ""
	}
	return "; one that has is made with: smolwc --db DIR token create NAME --admin '*'"
}

// mayRead reports whether a call may read a table, by its name in the database.
// Lists, and the tokens of their pages, tell of no other.
func mayRead(ctx context.Context, table string) bool {
	token := tokenOf(ctx)
	return token == nil || token.allows(Read, resource{name: table, exact: true})
}
