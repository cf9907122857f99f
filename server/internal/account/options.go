package account

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
)

// MaxHeaders is how many bytes the metadata of a call may have. Every waiting call
// holds them in memory, and gRPC's own limit is 16 MiB.
const MaxHeaders = 64 << 10

// connectTime is how long a connection may send no gRPC before it is closed. Until then
// it counts towards the limit of connections, and gRPC's own limit is 2 min.
const connectTime = 20 * time.Second

// ConnectionOptions bound the cost of idle connections. Pings detect clients that have
// vanished.
func ConnectionOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxHeaderListSize(MaxHeaders),
		experimental.BufferPool(newFrames()),
		grpc.ConnectionTimeout(connectTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
}
