package dial_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/log"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/dial"
)

// listen takes connections, and never answers.
func listen(t *testing.T, secrets *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if secrets != nil {
		l = tls.NewListener(l, secrets)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			if c, ok := conn.(*tls.Conn); ok {
				go c.Handshake()
			}
		}
	}()
	return l.Addr().String()
}

// certificate makes the files of a certificate that signs itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "CERTIFICATE", der), file(t, "EC PRIVATE KEY", text)
}

func file(t *testing.T, kind string, der []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A PD that does not answer is unavailable when the context ends, and the error says how
// each of its addresses takes a connection.
func TestPDThatDoesNotAnswer(t *testing.T) {
	cert, key := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	other, otherKey := certificate(t)
	secret := listen(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	silent := listen(t, nil)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for name, test := range map[string]struct {
		address dial.Address
		texts   []string
	}{
		"nobody listens": {dial.Address{PD: []string{"127.0.0.1:1", "127.0.0.1:2"}}, []string{"127.0.0.1:1: ", "127.0.0.1:2: ", "refused"}},
		"silence":        {dial.Address{PD: []string{silent}}, []string{"takes connections", "without TLS"}},
		"PD has TLS":     {dial.Address{PD: []string{secret}}, []string{"without TLS"}},
		"another's TLS":  {dial.Address{PD: []string{secret}, CA: other, Cert: other, Key: otherKey}, []string{"certificate"}},
		"no TLS":         {dial.Address{PD: []string{web.Listener.Addr().String()}, CA: cert, Cert: cert, Key: key}, []string{"does not answer with TLS"}},
		"silence in TLS": {dial.Address{PD: []string{secret}, CA: cert, Cert: cert, Key: key}, []string{"does not answer as a PD does"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := dial.Dial(ctx, test.address)
			if !errors.Is(err, cf.ErrUnavailable) {
				t.Fatal(err)
			}
			for _, text := range test.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v, want %s", err, text)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := dial.Dial(ctx, dial.Address{PD: []string{silent}}); err != context.Canceled {
		t.Errorf("the context was cancelled: %v", err)
	}
}

// Files that cannot be used are refused before anything is asked for.
func TestCertificatesThatCannotBeUsed(t *testing.T) {
	cert, key := certificate(t)
	_, other := certificate(t)
	missing := filepath.Join(t.TempDir(), "missing")
	for text, a := range map[string]dial.Address{
		"ca: open":            {CA: missing, Cert: cert, Key: key},
		"no certificate":      {CA: key, Cert: cert, Key: key},
		"cert and key: open":  {CA: cert, Cert: missing, Key: key},
		"does not match":      {CA: cert, Cert: cert, Key: other},
		"cert and key: tls: ": {CA: cert, Cert: key, Key: cert},
	} {
		_, err := dial.Dial(t.Context(), a)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
		if strings.Contains(text, "open") && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v is not fs.ErrNotExist", err)
		}
	}
}

// client-go's log goes to the program's, at level debug.
func TestLogs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dial.Dial(ctx, dial.Address{PD: []string{"127.0.0.1:1"}})
	before := slog.Default()
	defer slog.SetDefault(before)
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var text bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level})))
		log.Error("broken")
		if got := strings.Contains(text.String(), `level=DEBUG msg="tikv: broken"`); got != want {
			t.Errorf("at level %v there is %q", level, &text)
		}
	}
}
