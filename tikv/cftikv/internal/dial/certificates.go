package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/tikv/client-go/v2/config"
)

// certificates checks the files of an address. The configuration is nil without TLS, and
// reads cert and key again for each connection, so that they can be replaced.
func certificates(a Address, security config.Security) (*tls.Config, error) {
	if a.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(a.CA)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ca: %s has no certificate in PEM", a.CA)
	}
	if _, err := tls.LoadX509KeyPair(a.Cert, a.Key); err != nil {
		return nil, fmt.Errorf("cert and key: %w", err)
	}
	return security.ToTLSConfig()
}

// used is the certificates in the global configuration of client-go. It takes them from
// there when it asks whether a store lives, so all clusters of a process share them.
var used struct {
	sync.Mutex
	clusters int
	security config.Security
	restore  func()
}

var errOthers = errors.New("this process is connected to a cluster with other certificates, or without; it can connect to both only with the same")

// use makes certificates the global ones until forget is called.
func use(security config.Security) (forget func(), err error) {
	used.Lock()
	defer used.Unlock()
	if used.clusters == 0 {
		used.security = security
		used.restore = config.UpdateGlobal(func(c *config.Config) { c.Security = security })
	} else if s := used.security; s.ClusterSSLCA != security.ClusterSSLCA || s.ClusterSSLCert != security.ClusterSSLCert || s.ClusterSSLKey != security.ClusterSSLKey {
		return nil, errOthers
	}
	used.clusters++
	return sync.OnceFunc(release), nil
}

func release() {
	used.Lock()
	defer used.Unlock()
	if used.clusters--; used.clusters == 0 {
		used.restore()
	}
}
