package wire

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// HeadersKey is the key of the [metadata.MD] that a context may have for [Header].
type HeadersKey struct{}

// Header is the values of a header of a call. The name is in lower case, and nothing may
// change the values. gRPC's own look-up copies the values, and compares a name that is
// missing with every header.
func Header(ctx context.Context, name string) []string {
	if md, ok := ctx.Value(HeadersKey{}).(metadata.MD); ok {
		return md[name]
	}
	return metadata.ValueFromIncomingContext(ctx, name)
}
