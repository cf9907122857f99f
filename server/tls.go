package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// TLSFiles are files in PEM form. They are read again when they change, so that a
// certificate can be renewed while the server runs.
type TLSFiles struct {
	Cert, Key string
	// ClientCA, when it is not "", is the file of the authorities that sign the
	// certificates that clients must have.
	ClientCA string
}

// Option is the option of a gRPC server that serves with TLS 1.2 or later. It
// fails when the files are not valid. A nil logger discards messages.
func (f TLSFiles) Option(logger *slog.Logger) (grpc.ServerOption, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("TLS needs both a certificate and its key")
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	w := &tlsWatch{files: f, logger: logger}
	if err := w.load(); err != nil {
		return nil, err
	}
	return grpc.Creds(loggedHandshakes{credentials.NewTLS(&tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return w.current(), nil },
	}), logger}), nil
}

// pages is the configuration of HTTPS with the files. A client may have a certificate.
func (f TLSFiles) pages(logger *slog.Logger) (*tls.Config, error) {
	w := &tlsWatch{files: f, logger: logger}
	if err := w.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		config := w.current().Clone()
		config.NextProtos = []string{"http/1.1"}
		if config.ClientCAs != nil {
			config.ClientAuth = tls.VerifyClientCertIfGiven
		}
		return config, nil
	}}, nil
}

// loggedHandshakes log why a client was refused: the client sees little more than the
// end of its connection.
type loggedHandshakes struct {
	credentials.TransportCredentials
	logger *slog.Logger
}

// ServerHandshake implements credentials.TransportCredentials.
func (l loggedHandshakes) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := l.TransportCredentials.ServerHandshake(c)
	if err != nil {
		l.logger.Info("no TLS with a client", "peer", c.RemoteAddr().String(), "err", err)
	}
	return secure, info, err
}

func (l loggedHandshakes) Clone() credentials.TransportCredentials {
	return loggedHandshakes{l.TransportCredentials.Clone(), l.logger}
}

// A tlsWatch keeps the configuration made from the files.
type tlsWatch struct {
	files  TLSFiles
	logger *slog.Logger

	mu     sync.Mutex
	config *tls.Config
	stamps [3]time.Time
}

func (w *tlsWatch) modified() (stamps [3]time.Time) {
	for i, name := range []string{w.files.Cert, w.files.Key, w.files.ClientCA} {
		if info, err := os.Stat(name); err == nil {
			stamps[i] = info.ModTime()
		}
	}
	return stamps
}

// current is the configuration of the next connection. Files that are no longer
// valid leave the previous one in place.
func (w *tlsWatch) current() *tls.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.modified() != w.stamps {
		if err := w.load(); err != nil {
			w.logger.Error("the files of TLS have changed and are not good; those before stay in use", "err", err)
		}
	}
	return w.config
}

func (w *tlsWatch) load() error {
	w.stamps = w.modified()
	cert, err := tls.LoadX509KeyPair(w.files.Cert, w.files.Key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", w.files.Cert, w.files.Key, err)
	}
	switch now := time.Now(); {
	case now.After(cert.Leaf.NotAfter):
		w.logger.Warn("the certificate has expired: clients will not accept it", "file", w.files.Cert, "until", cert.Leaf.NotAfter)
	case now.Before(cert.Leaf.NotBefore):
		w.logger.Warn("the certificate is not valid yet: clients will not accept it", "file", w.files.Cert, "from", cert.Leaf.NotBefore)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}
	if w.files.ClientCA != "" {
		pem, err := os.ReadFile(w.files.ClientCA)
		if err != nil {
			return fmt.Errorf("authority of clients: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("authority of clients: %s has no certificate", w.files.ClientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	w.config = config
	return nil
}
