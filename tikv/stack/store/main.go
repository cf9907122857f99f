// Command store is a process that speaks TiKV's protocol: the unistore of TiDB's tests on
// a gRPC server, registered with a PD. It holds all data of its cluster, in badger.
package main

import (
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pingcap/kvproto/pkg/tikvpb"
	pingcap "github.com/pingcap/log"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/config"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/pd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

func main() {
	conf := config.DefaultConf
	flag.StringVar(&conf.Server.PDAddr, "pd", "127.0.0.1:2379", "the `ADDRESS` of PD")
	flag.StringVar(&conf.Server.StoreAddr, "addr", "127.0.0.1:20160", "listen on `ADDRESS`")
	flag.StringVar(&conf.Engine.DBPath, "dir", "store", "the data is in `FOLDER`")
	flag.BoolVar(&conf.Engine.SyncWrite, "sync", false, "sync each write to the disk")
	megabytes := flag.Int64("region-mb", 64, "split regions of more than `N` MiB")
	flag.Parse()
	conf.Server.Raft, conf.Server.RegionSize = false, *megabytes<<20
	if err := serve(&conf); err != nil {
		log.Fatal(err)
	}
}

func serve(conf *config.Config) error {
	logger, properties, err := pingcap.InitLogger(&pingcap.Config{Level: "warn"})
	if err != nil {
		return err
	}
	pingcap.ReplaceGlobals(logger, properties)
	if err := os.MkdirAll(filepath.Join(conf.Engine.DBPath, "kv"), 0o755); err != nil {
		return err
	}
	client, err := pd.NewClient([]string{conf.Server.PDAddr}, "store")
	if err != nil {
		return err
	}
	server, err := newServer(conf, client)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", conf.Server.StoreAddr)
	if err != nil {
		return err
	}
	g := grpc.NewServer(grpc.StreamInterceptor(plainCommits),
		grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))
	tikvpb.RegisterTikvServer(g, server)
	healthpb.RegisterHealthServer(g, health.NewServer()) // by which client-go finds a restarted store
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		g.Stop()
	}()
	err = g.Serve(l)
	server.Stop()
	return err
}

// plainCommits turns one-phase and async commits off. Unlike TiKV's, Unistore's reads do
// not raise the timestamps of such commits, so updates would be lost.
func plainCommits(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
	return h(srv, plainStream{stream})
}

type plainStream struct{ grpc.ServerStream }

func (p plainStream) RecvMsg(m any) error {
	err := p.ServerStream.RecvMsg(m)
	batch, ok := m.(*tikvpb.BatchCommandsRequest)
	if !ok || err != nil {
		return err
	}
	for _, r := range batch.Requests {
		if w, ok := r.Cmd.(*tikvpb.BatchCommandsRequest_Request_Prewrite); ok {
			w.Prewrite.TryOnePc, w.Prewrite.UseAsyncCommit = false, false
		}
	}
	return nil
}
