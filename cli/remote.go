package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/client/remote"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/shell"
)

// envToken is the environment variable for a server's token. Unlike a flag, it does not
// show in the list of processes.
const envToken = "SMOLWC_TOKEN"

// A remoteFlags is the flags for a server.
type remoteFlags struct {
	addr, token, instance string
	tls                   bool
	ca, cert, key         string
}

func (r *remoteFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.addr, "addr", "", "use the database that smolwc serve serves on `HOST:PORT`; of several, as in db1:8086,db2:8086, the one that takes writes")
	flags.StringVar(&r.instance, "instance", "", "with --addr: plain table names mean the tables of `NAME` (default "+client.DefaultInstance+")")
	flags.StringVar(&r.token, "token", "", "with --addr: show the server `TOKEN` (default $"+envToken+")")
	flags.BoolVar(&r.tls, "tls", false, "with --addr: use TLS, with the authorities of this machine")
	flags.StringVar(&r.ca, "tls-ca", "", "with --addr: use TLS, with the authorities in `FILE`")
	flags.StringVar(&r.cert, "tls-cert", "", "with --addr: use TLS, and show the certificate in `FILE`")
	flags.StringVar(&r.key, "tls-key", "", "the key of --tls-cert is in `FILE`")
}

func (r *remoteFlags) check(c *command) error {
	if r.addr == "" {
		if r.token+r.instance+r.ca+r.cert+r.key != "" || r.tls {
			return errors.New("--token, --instance and --tls… are about a server; name it with --addr")
		}
		return nil
	}
	switch {
	case !isAddrs(r.addr):
		return fmt.Errorf("--addr is %q; want HOST:PORT, as in localhost:8086, or several with commas between them", r.addr)
	case r.instance != "" && client.CheckInstance(r.instance) != nil:
		return fmt.Errorf("--instance: %w", client.CheckInstance(r.instance))
	case c.db != "":
		return errors.New("--db is a database here, and --addr one over the network; give one of them")
	case c.readOnly:
		return errors.New("--read-only opens a database here; over the network a token's rights say what may be done")
	case (r.cert == "") != (r.key == ""):
		return errors.New("--tls-cert and --tls-key go together; one of them is missing")
	}
	return nil
}

// checkOne checks flags that name one server.
func (r *remoteFlags) checkOne(c *command) error {
	if strings.Contains(r.addr, ",") {
		return fmt.Errorf("--addr is %q; want the address of one server, since the command is about that one", r.addr)
	}
	return r.check(c)
}

func isAddrs(list string) bool {
	for addr := range strings.SplitSeq(list, ",") {
		if !isAddr(addr) {
			return false
		}
	}
	return true
}

func isAddr(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && port != ""
}

// config returns the TLS configuration, or nil without TLS. Errors name the flags, as in --tls-ca.
func (r *remoteFlags) config(ctx context.Context, flags string) (*tls.Config, error) {
	if !r.tls && r.ca == "" && r.cert == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca != "" {
		pem, err := osfile.ReadFile(ctx, r.ca)
		if err != nil {
			return nil, fmt.Errorf("%s-ca: %w", flags, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s-ca: %s has no certificate", flags, r.ca)
		}
	}
	if r.cert != "" {
		cert, err := osfile.KeyPair(ctx, r.cert, r.key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", r.cert, r.key, err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}

// connectTime bounds the wait for the server's first answer.
const connectTime = 10 * time.Second

// dial prepares the connection to the server.
func (r *remoteFlags) dial(ctx context.Context, c *command) (*client.Client, error) {
	config, err := r.config(ctx, "--tls")
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	o := client.Options{Instance: r.instance, Token: r.token, TLS: config}
	if o.Token == "" {
		o.Token = c.getenv(envToken)
	}
	db, err := client.Dial(r.addr, o)
	return db, fail(exitUsage, err)
}

// connect connects to the server and fetches its tables.
func (r *remoteFlags) connect(ctx context.Context, c *command) (*client.Client, error) {
	db, err := r.dial(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := r.failed(db.Refresh(ctx)); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func (r *remoteFlags) failed(err error) error {
	if err == nil {
		return nil
	}
	withTLS := r.tls || r.ca != "" || r.cert != ""
	return fail(exitOpen, fmt.Errorf("the server on %s: %w%s", r.addr, err, hintOf(err, withTLS)))
}

// usualAddr is where a server listens without --addr.
const usualAddr = "127.0.0.1:8086"

func (c *command) pingCommand() *cobra.Command {
	r := &remoteFlags{}
	cmd := &cobra.Command{
		Use:   "ping",
		Short: "Ask a server whether it takes calls",
		Long: `ping asks the server on --addr, or on ` + usualAddr + `, whether it takes calls. It
prints nothing, and the exit code is 0 if the server does, or 3 if it does not or does
not answer within ` + connectTime.String() + `. It needs no token.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.addr = cmp.Or(r.addr, usualAddr)
			if err := r.checkOne(c); err != nil {
				return fail(exitUsage, err)
			}
			db, err := r.dial(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }() // no call is running
			ctx, cancel := context.WithTimeout(cmd.Context(), connectTime)
			defer cancel()
			return r.failed(db.Ping(ctx))
		},
	}
	r.add(cmd)
	return cmd
}

// hintOf returns a hint about the flags for an error of gRPC or TLS, or "".
func hintOf(err error, withTLS bool) string {
	switch says := err.Error(); {
	case strings.Contains(says, "looked like an HTTP/1.1 header"):
		return "; this looks like its --http, and --addr is the other port"
	case !withTLS && strings.Contains(says, "reading server preface"):
		return "; if it serves with TLS, give --tls or --tls-ca"
	case withTLS && strings.Contains(says, "first record does not look like a TLS handshake"):
		return "; it serves without TLS: leave out the --tls flags"
	case strings.Contains(says, "certificate required"):
		return "; give --tls-cert and --tls-key"
	}
	return ""
}

func (r *shellRun) runRemote(ctx context.Context, interactive bool) error {
	db, err := r.remote.connect(ctx, r.command)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // no call is running
	o := r.options(nil)
	o.Remote = remote.Database{Client: db}
	return r.session(ctx, o, interactive)
}

func (r *shellRun) session(ctx context.Context, o shell.Options, interactive bool) (err error) {
	o.Interactive = interactive
	o.Pages = r.sources.typed() && isTerminal(r.stdin) && isTerminal(r.stdout)
	s := shell.New(o)
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = r.outcome(closeErr)
		}
	}()
	if interactive {
		return r.outcome(s.Run(ctx))
	}
	return r.scripts(ctx, s)
}
