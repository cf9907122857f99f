package server

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// maxHeaders is how many bytes the metadata of a call may have. Every waiting call
// holds them in memory, and gRPC's own limit is 16 MiB.
const maxHeaders = 64 << 10

// connectTime is how long a connection may send no gRPC before it is closed. Until then
// it counts towards the limit of connections, and gRPC's own limit is 2 min.
const connectTime = 20 * time.Second

// connectionOptions bound the cost of idle connections. Pings detect clients that have
// vanished.
var connectionOptions = []grpc.ServerOption{
	grpc.MaxHeaderListSize(maxHeaders),
	grpc.ConnectionTimeout(connectTime),
	grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
	grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
}
