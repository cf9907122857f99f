package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// A request is sent to an object of the bucket, or to the bucket itself.
type request struct {
	method string
	key    string // "" for the bucket
	query  url.Values
	header http.Header
	// content opens what is sent; nil when nothing is.
	content func() (sending, error)
	size    int64
	sum     Sum
	// stream leaves reading the answer to the caller.
	stream bool
}

// A sending is content that is sent. forget says that it was not received.
type sending interface {
	io.ReadCloser
	forget()
}

// A small sending is not counted.
type small struct{ *bytes.Reader }

func (small) Close() error { return nil }
func (small) forget()      {}

func sumOfBytes(b []byte) Sum { return sha256.Sum256(b) }

// An answer is a server's answer to a request that it carried out.
type answer struct {
	header http.Header
	text   []byte
	body   io.ReadCloser // of a stream, instead of text
}

const (
	// maxAnswer bounds an answer that is not an object: a list holds at most 1000 keys
	// of 1024 bytes.
	maxAnswer = 16 << 20
	// expectFrom is the size from which a server is asked whether it would take the
	// content.
	expectFrom = 2 << 20
)

// do sends a request, again and again while the server may only be out of order for
// a moment.
func (b *s3Bucket) do(ctx context.Context, r request) (answer, error) {
	for try := 1; ; try++ {
		a, err := b.try(ctx, r)
		if ended := ctx.Err(); err != nil && ended != nil {
			return answer{}, ended
		}
		if err == nil || try >= b.patience.attempts || !passing(err) {
			return a, b.failure(err)
		}
		most := min(b.patience.backoff, time.Second<<min(try-1, 30))
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-time.After(rand.N(most)):
		}
	}
}

// try sends a request once. The error is a *refusal when the server answers
// with one.
func (b *s3Bucket) try(ctx context.Context, r request) (a answer, err error) {
	keyring := *b.keyring
	keyring.Context = ctx
	keys, err := b.keys.GetWithContext(&keyring)
	if err != nil {
		return a, fmt.Errorf("%w: the access keys cannot be renewed: %w", ErrDenied, err)
	}
	place := *b.place
	if r.key != "" {
		place.Path += "/" + b.prefix + r.key
	}
	place.RawPath, place.RawQuery = s3utils.EncodePath(place.Path), s3utils.QueryEncode(r.query)
	var body io.Reader
	if r.content != nil {
		in, opened := r.content()
		if opened != nil {
			return a, opened
		}
		defer in.Close()
		defer func() {
			if err != nil {
				in.forget()
			}
		}()
		if body = in; r.size == 0 {
			body = http.NoBody // the length of any other one of length 0 is unknown
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, place.String(), body)
	if err != nil {
		return a, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	sum := r.sum
	if r.content == nil {
		sum = sumOfBytes(nil)
	}
	req.ContentLength = r.size
	req.Header.Set("X-Amz-Content-Sha256", sum.String())
	req = signer.SignV4(*req, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, b.region)
	req.Header.Set("User-Agent", "smolwc")
	if r.size > expectFrom {
		req.Header.Set("Expect", "100-continue")
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return a, err
	}
	ok := resp.StatusCode/100 == 2
	if ok && r.stream {
		return answer{header: resp.Header, body: resp.Body}, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return a, err
	}
	if !ok {
		return a, refused(resp.StatusCode, text)
	}
	return answer{header: resp.Header, text: text}, nil
}

// passing reports whether the same request may succeed in a moment.
func passing(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		_, local := errors.AsType[*fs.PathError](err)
		return !local && endpointHint(err) == ""
	}
	switch r.status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return slices.Contains([]string{"BandwidthLimitExceeded", "RequestLimitExceeded", "RequestThrottled", "RequestTimeout", "SlowDown", "Throttling"}, r.Code)
}
