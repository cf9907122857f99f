package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
)

// A server with tokens, TLS and pages: a token that is made while it runs works for its
// tables, in the flag and in the environment.
func TestServeWithTLSTokensAndPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	cert, key := selfSigned(t)
	s := startServer(t, "--db", dir, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", cert, "--http", ":0")
	over := []string{"--addr", s.addr, "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key}
	output(t, append(over, "-c", "create table mine family f; create table other family f")...)
	for addr, want := range map[string]string{
		s.addr: "if it serves with TLS, give --tls or --tls-ca",
		strings.TrimSuffix(strings.TrimPrefix(s.pages, "https://"), "/metrics"): "if it serves with TLS, give --tls or --tls-ca",
	} {
		var errs strings.Builder
		if code := run([]string{"--addr", addr, "-c", "tables"}, strings.NewReader(""), io.Discard, &errs, noEnv); code != 3 || !strings.Contains(errs.String(), want) {
			t.Errorf("exit %d, %q; want %q", code, errs.String(), want)
		}
	}
	secret, _ := output(t, "token", "create", "writer", "--write", "mine", "--db", dir)
	secret = strings.TrimSpace(secret)
	var errs strings.Builder
	for code := 0; code != 3; time.Sleep(10 * time.Millisecond) {
		code = run(append(over, "-c", "tables"), strings.NewReader(""), io.Discard, &errs, noEnv)
	}
	if !strings.Contains(errs.String(), "this server requires a token") {
		t.Error(errs.String())
	}
	output(t, append([]string{"ping"}, over...)...) // needs no token
	output(t, append(over, "--token", secret, "-c", "put mine k f:x=1")...)
	env := func(name string) string {
		if name == envToken {
			return secret
		}
		return ""
	}
	errs.Reset()
	var out strings.Builder
	if code := run(append(over, "--format", "csv", "-c", "count mine; tables; put other k f:x=1"), strings.NewReader(""), &out, &errs, env); code != 1 ||
		!strings.Contains(errs.String(), `unknown table "other"`) || !strings.HasPrefix(out.String(), "1\n") {
		t.Errorf("exit %d, %q, %q", code, out.String(), errs.String())
	}
	// The pages have TLS too. Those for monitoring need no certificate, and no token.
	for counted := false; !counted; time.Sleep(10 * time.Millisecond) { // the client sees the end of a call first
		code, text := overTLS(t, s.pages, secret, cert, "")
		if code != 200 {
			t.Fatalf("the page of metrics: %d\n%s", code, text)
		}
		counted = strings.Contains(text, `smolwc_calls_total{code="OK",method="google.bigtable.v2.Bigtable/MutateRow"} 1`)
	}
	api := strings.TrimSuffix(s.pages, "/metrics") + "/v1/table"
	for _, c := range []struct {
		secret, key, want string
	}{
		{secret, "", "this API needs a certificate of the client"},
		{"", key, "this server requires a token"},
		{secret, key, `"name":"mine"`},
	} {
		if _, text := overTLS(t, api, c.secret, cert, c.key); !strings.Contains(text, c.want) || strings.Contains(text, "other") {
			t.Errorf("%s; want %s", text, c.want)
		}
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("a server that is told to stop: %v", err)
	}
}

// overTLS gets a page of a server with a certificate, with the client's own if there is
// a key.
func overTLS(t *testing.T, url, secret, cert, key string) (int, string) {
	t.Helper()
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(pem)
	if key != "" {
		own, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// selfSigned is a certificate that is its own authority, and its key.
func selfSigned(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "self"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// A second signal ends a server that waits for a call to end.
func TestServeEndsAtASecondSignal(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async", "--grace", "1h", "--http", ":0")
	output(t, "--addr", s.addr, "-c", "create table t family f")
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, make([]byte, 256<<10))
	tab := s.table("t")
	for i := range 40 {
		if err := tab.Apply(t.Context(), string(rune('a'+i)), m); err != nil {
			t.Fatal(err)
		}
	}
	reading, release := make(chan bool), make(chan bool)
	go func() {
		_ = tab.ReadRows(t.Context(), bigtable.InfiniteRange(""), func(bigtable.Row) bool {
			close(reading)
			<-release
			return false
		})
	}()
	defer close(release)
	<-reading
	ready := func() int {
		resp, err := http.Get(strings.TrimSuffix(s.pages, "metrics") + "readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if code := ready(); code != http.StatusOK {
		t.Errorf("a server that serves: %d", code)
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	for ready() != http.StatusServiceUnavailable {
		time.Sleep(10 * time.Millisecond)
	}
	if err := s.end(syscall.SIGTERM); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("after a second signal: %v", err)
	}
}
