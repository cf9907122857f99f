package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// An authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.key = a.newKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.write("ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name, kind string, der []byte) {
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// sign writes NAME.pem and NAME.key, for 127.0.0.1 and an hour.
func (a *authority) sign(name string, serial int64) {
	a.signUntil(name, serial, time.Now().Add(time.Hour))
}

func (a *authority) signUntil(name string, serial int64, end time.Time) {
	key := a.newKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", b)
}

// client is the configuration of a client that trusts the authority, with the
// certificate of a name, or without one.
func (a *authority) client(name string) *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(a.cert)
	if name != "" {
		cert, err := tls.LoadX509KeyPair(a.path(name+".pem"), a.path(name+".key"))
		if err != nil {
			a.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config
}

func (r *rig) pingWith(creds credentials.TransportCredentials) error {
	conn, err := grpc.NewClient(r.addr, grpc.WithTransportCredentials(creds))
	r.must(err)
	defer conn.Close()
	_, err = bigtablepb.NewBigtableClient(conn).PingAndWarm(r.ctx(), &bigtablepb.PingAndWarmRequest{Name: parent})
	return err
}

func serveTLS(t *testing.T, f server.TLSFiles) *rig {
	t.Helper()
	r, _ := serveLoggedTLS(t, f)
	return r
}

func serveLoggedTLS(t *testing.T, f server.TLSFiles) (*rig, *logBuffer) {
	t.Helper()
	log := new(logBuffer)
	creds, err := f.Option(slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return serve(t, db, server.Options{GRPC: []grpc.ServerOption{creds}}), log
}

// The log has the reason why a client was refused, since the client itself gets few
// details.
func TestExpiredCertificates(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", 2)
	a.signUntil("client", 3, time.Now().Add(-time.Minute))
	files := server.TLSFiles{Cert: a.path("server.pem"), Key: a.path("server.key"), ClientCA: a.path("ca.pem")}
	r, log := serveLoggedTLS(t, files)
	if log.String() != "" {
		t.Errorf("before anything was wrong: %s", log)
	}
	if err := r.pingWith(credentials.NewTLS(a.client("client"))); status.Code(err) != codes.Unavailable {
		t.Errorf("with a certificate that has expired: %v", err)
	}
	r.until("a line of the log", func() bool {
		return strings.Contains(log.String(), "no TLS with a client") && strings.Contains(log.String(), "expired")
	})
	a.signUntil("server", 4, time.Now().Add(-time.Minute))
	if _, log = serveLoggedTLS(t, files); !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "the certificate has expired") || !strings.Contains(log.String(), a.path("server.pem")) {
		t.Errorf("a server with a certificate that has expired says %q", log)
	}
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", 2)
	r := serveTLS(t, server.TLSFiles{Cert: a.path("server.pem"), Key: a.path("server.key")})
	r.must(r.pingWith(credentials.NewTLS(a.client(""))))
	if err := r.ping(r.ctx()); status.Code(err) != codes.Unavailable {
		t.Errorf("without TLS: %v", err)
	}
	if err := r.pingWith(credentials.NewTLS(newAuthority(t).client(""))); status.Code(err) != codes.Unavailable {
		t.Errorf("a client that trusts another authority: %v", err)
	}
	old := a.client("")
	old.MaxVersion = tls.VersionTLS11
	if err := r.pingWith(credentials.NewTLS(old)); status.Code(err) != codes.Unavailable {
		t.Errorf("with TLS 1.1: %v", err)
	}
}

func TestMutualTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", 2)
	a.sign("client", 3)
	r := serveTLS(t, server.TLSFiles{Cert: a.path("server.pem"), Key: a.path("server.key"), ClientCA: a.path("ca.pem")})
	r.must(r.pingWith(credentials.NewTLS(a.client("client"))))
	if err := r.pingWith(credentials.NewTLS(a.client(""))); status.Code(err) != codes.Unavailable {
		t.Errorf("without a certificate: %v", err)
	}
	other := newAuthority(t)
	other.sign("client", 3)
	config := a.client("")
	config.Certificates = other.client("client").Certificates
	if err := r.pingWith(credentials.NewTLS(config)); status.Code(err) != codes.Unavailable {
		t.Errorf("with a certificate of another authority: %v", err)
	}
}

// A certificate can be renewed while the server runs; if the new one is not valid, the
// old one stays in use.
func TestRenewedCertificate(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", 2)
	r := serveTLS(t, server.TLSFiles{Cert: a.path("server.pem"), Key: a.path("server.key")})
	serial := func() int64 {
		config := a.client("")
		config.NextProtos = []string{"h2"}
		conn, err := tls.Dial("tcp", r.addr, config)
		r.must(err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 2 {
		t.Fatalf("certificate %d", got)
	}
	a.sign("server", 7)
	later := time.Now().Add(time.Minute)
	r.must(os.Chtimes(a.path("server.pem"), later, later))
	if got := serial(); got != 7 {
		t.Errorf("after a renewal there is certificate %d", got)
	}
	r.must(os.WriteFile(a.path("server.pem"), []byte("half"), 0o600))
	if got := serial(); got != 7 {
		t.Errorf("after a file that is not good there is certificate %d", got)
	}
}

func TestTLSFilesThatAreNotGood(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", 2)
	a.sign("other", 3)
	for _, f := range []server.TLSFiles{
		{Cert: a.path("server.pem")},
		{Cert: a.path("none.pem"), Key: a.path("server.key")},
		{Cert: a.path("server.pem"), Key: a.path("other.key")},
		{Cert: a.path("server.pem"), Key: a.path("server.key"), ClientCA: a.path("server.key")},
		{Cert: a.path("server.pem"), Key: a.path("server.key"), ClientCA: a.path("none.pem")},
	} {
		if _, err := f.Option(slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%+v is good", f)
		}
	}
}
