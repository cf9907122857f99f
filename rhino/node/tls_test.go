package node_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/smolwc/smolwc/rhino/node"
)

// certificate writes a certificate for this machine, which signs itself.
func certificate(t testing.TB) node.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files := node.TLS{Cert: filepath.Join(t.TempDir(), "cert.pem"), Key: filepath.Join(t.TempDir(), "key.pem")}
	files.CA = files.Cert
	for path, block := range map[string]*pem.Block{files.Cert: {Type: "CERTIFICATE", Bytes: cert}, files.Key: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Everything works over TLS, between processes too, and nothing without.
func TestTLS(t *testing.T) {
	c := newCluster(t)
	c.TLS = certificate(t)
	c.start(c.Config, node.Options{Roles: []node.Role{node.ControlRole}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.RegionRole}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.ReplicatorRole, node.FrontRole}})
	client := prepared(t, c, `["id"]`)
	for _, region := range []string{eu, us} {
		client.want(about("SetRow", region, "row", `{"id":{"U64":1}}`), `"SetRowCompleted"`)
		client.want(about("GetRow", region, "pk", `{"id":{"U64":1}}`), `{"RowFound":{"row":{"id":{"U64":1}}}}`)
	}
	plain, strangers := *c.Config, *c.Config
	plain.TLS = node.TLS{}
	strangers.TLS.CA = ""
	for _, config := range []*node.Config{&plain, &strangers} {
		if _, err := node.Dial(context.Background(), config, eu, false); err == nil {
			t.Errorf("a client with %+v gets in", config.TLS)
		}
	}
}

// Regions and the control refuse those without the secret, and a process with a wrong
// one says so to its clients.
func TestOnlyServersGetIn(t *testing.T) {
	c := newCluster(t)
	c.start(c.Config, node.Options{Roles: []node.Role{node.ControlRole, node.RegionRole}})
	for _, address := range []string{c.Control.Address, c.Regions[0].Address} {
		_, response, err := websocket.Dial(context.Background(), c.URL(address), nil)
		if err == nil || response == nil || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %v, %v", address, response, err)
		}
	}
	wrong := *c.Config
	wrong.Secret = "another secret than theirs"
	c.start(&wrong, node.Options{Roles: []node.Role{node.FrontRole}})
	client := c.front(eu)
	if got := client.call(`{"Login":{"token":"t"}}`); !strings.Contains(got, `{"PleaseRetry":{"reason":"region eu-west-2 refuses the secret"}}`) {
		t.Error(got)
	}
}

// Requests that are sent after a Login, without waiting for it, are those of the tenant.
func TestRequestsWaitForTheLogin(t *testing.T) {
	c := newCluster(t)
	c.all()
	prepared(t, c, `["id"]`)
	conn, _, err := websocket.Dial(context.Background(), c.URL(c.Regions[0].Front.Address), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	requests := []string{`{"Login":{"token":"token"}}`, about("GetRow", us, "pk", `{"id":{"U64":1}}`), about("GetRow", eu, "pk", `{"id":{"U64":1}}`)}
	for _, request := range requests {
		if err := conn.Write(context.Background(), websocket.MessageText, []byte(`{"correlation_id":"the same","payload":`+request+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	for range requests {
		_, text, err := conn.Read(context.Background())
		if err != nil || strings.Contains(string(text), "NotLoggedIn") || !strings.Contains(string(text), "the same") {
			t.Errorf("%s, %v", text, err)
		}
	}
}
