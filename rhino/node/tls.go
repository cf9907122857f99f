package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/smolwc/smolwc/internal/osfile"
)

// load reads the files: for servers and for their clients, nil without TLS.
func (t TLS) load(ctx context.Context) (server, client *tls.Config, err error) {
	client = &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := osfile.ReadFile(ctx, t.CA)
		if err != nil {
			return nil, nil, fmt.Errorf("tls.ca: %w", err)
		}
		client.RootCAs = x509.NewCertPool()
		if !client.RootCAs.AppendCertsFromPEM(pem) {
			return nil, nil, fmt.Errorf("tls.ca: %s has no certificate", t.CA)
		}
	}
	if t.Cert == "" {
		return nil, client, nil
	}
	cert, err := osfile.KeyPair(ctx, t.Cert, t.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("tls: certificate %s with key %s: %w", t.Cert, t.Key, err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}, client, nil
}

// URL is where clients find a server at an address of the configuration.
func (c *Config) URL(address string) string {
	if c != nil && c.TLS.Cert != "" {
		return "wss://" + address
	}
	return "ws://" + address
}
