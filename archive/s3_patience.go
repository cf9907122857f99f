package archive

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// A patience bounds how long and how often a server may fail.
type patience struct {
	// noProgress is how long a server may accept no bytes of a request, take to begin
	// an answer after the last byte of the request, or send no further bytes of an
	// answer.
	noProgress time.Duration
	// attempts is how often a request is made before it counts as failed.
	attempts int
	// backoff bounds the pause between two attempts.
	backoff time.Duration
}

var usualPatience = patience{noProgress: 2 * time.Minute, attempts: 5, backoff: 20 * time.Second}

// client ends the sending of a request when the server takes no bytes for too long, the
// wait for the answer after it, and an answer that stalls. The request as a whole may
// take any time. It follows no redirect: the signature is for one place.
func (p patience) client() *http.Client {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.ResponseHeaderTimeout = p.noProgress
	tr.DisableCompression = true // objects are read as they are
	tr.MaxIdleConnsPerHost = 2 * DefaultParallel
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &patientConn{conn, p.noProgress}, nil
	}
	return &http.Client{
		Transport:     &patientTransport{tr, p.noProgress},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type patientConn struct {
	net.Conn
	noProgress time.Duration
}

func (c *patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.noProgress)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

type patientTransport struct {
	http.RoundTripper
	noProgress time.Duration
}

func (t *patientTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &patientBody{resp.Body, t.noProgress}
	}
	return resp, err
}

type patientBody struct {
	io.ReadCloser
	noProgress time.Duration
}

func (b *patientBody) Read(p []byte) (int, error) {
	stalled := time.AfterFunc(b.noProgress, func() { _ = b.Close() }) // ends the reading
	defer stalled.Stop()
	return b.ReadCloser.Read(p)
}
