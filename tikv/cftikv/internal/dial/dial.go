package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/tikv/client-go/v2/config"
	"github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/util"
	pd "github.com/tikv/pd/client"
	pdhttp "github.com/tikv/pd/client/http"
	"github.com/tikv/pd/client/opt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/smolwc/smolwc/cf"
)

// A Client is a connection to a cluster.
type Client struct {
	*tikv.KVStore
	// HTTP asks PD for the sizes of regions. The KVStore does not get it, since it
	// would ask PD for more than that.
	HTTP      pdhttp.Client
	safepoint *safepoint
	forget    func() // the certificates
}

// Dial connects to a cluster. If no PD answers before the context ends, the error is
// [cf.ErrUnavailable] with the cause. The context bounds the connecting only.
func Dial(ctx context.Context, a Address) (client *Client, err error) {
	security := config.NewSecurity(a.CA, a.Cert, a.Key, nil)
	secrets, err := certificates(a, security)
	if err != nil {
		return nil, err
	}
	quiet()
	kv.TxnCommitBatchSize.CompareAndSwap(kv.DefTxnCommitBatchSize, commitBatch)
	forget, err := use(security)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			forget()
		}
	}()
	members, err := dialPD(ctx, a, secrets)
	if err != nil {
		return nil, err
	}
	codec := tikv.NewCodecPDClient(tikv.ModeTxn, util.InterceptedPDClient{Client: members})
	point, err := newSafepoint(a.PD, secrets)
	if err != nil {
		members.Close()
		return nil, unavailable(err)
	}
	wire := tikv.NewRPCClient(tikv.WithSecurity(security), tikv.WithCodec(codec.GetCodec()))
	store, err := tikv.NewKVStore(fmt.Sprintf("tikv-%d", members.GetClusterID(ctx)), codec, point, wire)
	if err != nil {
		return nil, errors.Join(unavailable(err), wire.Close(), point.Close(), closed(members))
	}
	OwnAnswers(store)
	pages := pdhttp.NewClientWithServiceDiscovery("smolwc", members.GetServiceDiscovery(), pdhttp.WithTLSConfig(secrets))
	return &Client{store, pages, point, forget}, nil
}

// commitBatch is the size of a request to prewrite or to commit, in bytes, unless the
// program chose another one. client-go's own size, 16 KiB, is two requests for hundred
// rows with their sentinels.
const commitBatch = 64 << 10

func closed(c pd.Client) error {
	c.Close()
	return nil
}

// End ends the waits for safepoints. Close does too, and would wait for users of the
// client to end.
func (c *Client) End() { c.safepoint.end() }

// Close ends the connection.
func (c *Client) Close() error {
	c.End() // KVStore.Close waits for its last request
	defer c.forget()
	c.HTTP.Close()
	return c.KVStore.Close()
}

// A connection to PD on which nothing arrives is tested after keepAlive, and ends if that
// takes longer than keepAliveTimeout.
const (
	keepAlive        = 10 * time.Second
	keepAliveTimeout = 3 * time.Second
)

// dialPD makes a client of PD, which would try for some minutes.
func dialPD(ctx context.Context, a Address, secrets *tls.Config) (pd.Client, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	client, err := pd.NewClientWithContext(life, a.PD, pd.SecurityOption{CAPath: a.CA, CertPath: a.Cert, KeyPath: a.Key},
		opt.WithInitMetricsOption(false),
		opt.WithGRPCDialOptions(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAlive, Timeout: keepAliveTimeout})))
	if err == nil && life.Err() == nil {
		return client, nil
	}
	end()
	if err == nil {
		client.Close()
		err = ctx.Err()
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	return nil, unavailable(fmt.Errorf("%v; %s", err, probe(a.PD, secrets)))
}

func unavailable(err error) error { return fmt.Errorf("%w: no PD answers: %w", cf.ErrUnavailable, err) }

// probe says how each PD answers to a connection: its client does not tell.
func probe(members []string, secrets *tls.Config) string {
	var found []string
	for _, member := range members {
		found = append(found, member+": "+connect(member, secrets))
	}
	return strings.Join(found, "; ")
}

// probeTimeout bounds the wait for one PD.
const probeTimeout = time.Second

func connect(member string, secrets *tls.Config) string {
	var conn net.Conn
	var err error
	d := &net.Dialer{Timeout: probeTimeout}
	if secrets == nil {
		conn, err = d.Dial("tcp", member)
	} else {
		conn, err = tls.DialWithDialer(d, "tcp", member, secrets)
	}
	var plain tls.RecordHeaderError
	if errors.Is(err, io.EOF) || errors.As(err, &plain) {
		return "it takes connections, but does not answer with TLS"
	}
	if err != nil {
		return err.Error()
	}
	conn.Close()
	if secrets == nil {
		return "it takes connections, but does not answer without TLS as a PD does"
	}
	return "it takes connections, but does not answer as a PD does"
}
