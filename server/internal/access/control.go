package access

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// A Control lets calls in by their tokens.
type Control struct {
	Tokens *Tokens // nil: no call needs one
	Logger *slog.Logger
}

// Known reports whether a method is in the list of needs. No other may be called.
func Known(method string) bool {
	_, ok := needs[method]
	return ok
}

// Free reports whether a method needs no right and no token.
func Free(method string) bool { return strings.HasPrefix(method, "/"+health+"/") && Known(method) }

// OfDatabase reports whether a method concerns the database as a whole.
func OfDatabase(method string) bool {
	return strings.HasPrefix(method, "/"+smolwcpb.DatabaseAdmin_ServiceDesc.ServiceName+"/") ||
		strings.HasPrefix(method, "/"+smolwcpb.Standbys_ServiceDesc.ServiceName+"/")
}

// Unbounded reports whether a call may take as long as its client waits.
func Unbounded(method string) bool {
	return OfDatabase(method) || method == smolwcpb.Statements_RunStatement_FullMethodName
}

// Methods returns all methods of the list of needs, in no order.
func Methods() []string { return slices.Collect(maps.Keys(needs)) }

// Identify returns the token of a call, nil when the call needs no token. With an
// error, the token is the refused one.
func (c *Control) Identify(ctx context.Context, method string) (*Token, error) {
	if c.Tokens == nil || Free(method) {
		return nil, nil
	}
	required, err := c.Tokens.required()
	if err != nil {
		c.Logger.Error("the tokens cannot be read, so that nobody is let in", "err", err)
		return nil, status.Error(codes.Unauthenticated, "the tokens of this server cannot be read")
	}
	if !required {
		return nil, nil
	}
	secret, err := bearer(ctx)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	token, err := c.Tokens.find(secret)
	if err != nil {
		return token, status.Error(codes.Unauthenticated, err.Error())
	}
	return token, nil
}

// bearer is the secret that a client sent.
func bearer(ctx context.Context) (string, error) {
	for _, v := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		const scheme = "bearer "
		if len(v) > len(scheme) && strings.EqualFold(v[:len(scheme)], scheme) {
			return v[len(scheme):], nil
		}
	}
	return "", errNoToken
}

// Required reports whether clients need a token.
func (c *Control) Required() bool {
	if c.Tokens == nil {
		return false
	}
	required, err := c.Tokens.required()
	return required || err != nil
}

// Check refuses a token that was valid and no longer is; a nil token is valid.
func (c *Control) Check(token *Token) error {
	if token == nil {
		return nil
	}
	if err := c.Tokens.check(token); err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return nil
}

type tokenKey struct{}

// WithToken returns the context of a call with a token; nil is for a call that
// needs no token.
func WithToken(ctx context.Context, token *Token) context.Context {
	if token == nil {
		return ctx
	}
	return context.WithValue(ctx, tokenKey{}, token)
}

// TokenOf returns the token of a call, nil when the call needs no token.
func TokenOf(ctx context.Context) *Token {
	token, _ := ctx.Value(tokenKey{}).(*Token)
	return token
}

// Authorize refuses a call whose token lacks the right to one of the call's
// resources. Without a token everything is allowed.
func Authorize(token *Token, method string, resources []Resource) error {
	right := needs[method]
	if right == NoRight {
		return nil
	}
	for _, r := range resources {
		if err := token.require(right, r, whoHas(method)); err != nil {
			return err
		}
	}
	return nil
}

// Require refuses a call whose token lacks a right to a resource.
func Require(ctx context.Context, right Right, r Resource) error {
	return TokenOf(ctx).require(right, r, "")
}

func (t *Token) require(right Right, r Resource, hint string) error {
	if t == nil || t.allows(right, r) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "token %q has no right to %s %s%s", t.Name, right, r, hint)
}

// whoHas says how an operator gives the right to the whole database.
func whoHas(method string) string {
	if !OfDatabase(method) {
		return ""
	}
	return "; one that has is made with: smolwc --db DIR token create NAME --admin '*'"
}

// MayRead reports whether a call may read a table, by its name in the database.
// Lists, and the tokens of their pages, include only such tables.
func MayRead(ctx context.Context, table string) bool {
	token := TokenOf(ctx)
	return token == nil || token.allows(Read, Resource{Name: table, Exact: true})
}

// Administers reports whether a token gives the right to administer all tables, as nil
// does: the call needs no token.
func (t *Token) Administers() bool { return t == nil || t.allows(Admin, Resource{}) }
