package server

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// maxHeaders is how many bytes the metadata of a call may have. Every waiting call
// holds them in memory, and gRPC's own limit is 16 MiB.
const maxHeaders = 64 << 10

// connectTime: connections that send no gRPC for this long are closed. Until then
// such a connection occupies one that others may wait for, and gRPC's own limit is 2
// min.
const connectTime = 20 * time.Second

// connectionOptions bound the cost of idle connections. Pings detect clients that have
// vanished.
var connectionOptions = []grpc.ServerOption{
	grpc.MaxHeaderListSize(maxHeaders),
	grpc.ConnectionTimeout(connectTime),
	grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
	grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
}
