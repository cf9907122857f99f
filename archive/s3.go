package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// An s3Bucket keeps objects in a bucket of an object store.
type s3Bucket struct {
	client   *http.Client
	patience patience
	keys     *credentials.Credentials
	keyring  *credentials.CredContext // how keys are fetched
	endpoint string                   // "": Amazon's
	place    *url.URL                 // of the bucket
	region   string
	bucket   string
	prefix   string
	lease    leaseTimes
}

const defaultRegion = "us-east-1"

// newS3Bucket makes a client with the access keys of the environment. It sends
// nothing to the server yet.
func newS3Bucket(ctx context.Context, t s3Target, p patience) (*s3Bucket, error) {
	profile, err := readProfile()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	b := &s3Bucket{
		client: p.client(), patience: p, bucket: t.bucket, prefix: t.prefix, lease: usualLease,
		endpoint: cmp.Or(t.endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), profile["endpoint_url"]),
		region:   cmp.Or(t.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profile["region"], defaultRegion),
		keyring:  &credentials.CredContext{Client: &http.Client{Timeout: keysTimeout}},
	}
	if b.place, err = b.findPlace(); err != nil {
		return nil, err
	}
	b.keys, err = findKeys(ctx, t, b.region, profile, b.keyring)
	return b, err
}

// findPlace is the URL of the bucket. Amazon has a host for each bucket; other servers
// seldom do.
func (b *s3Bucket) findPlace() (*url.URL, error) {
	host := "s3." + b.region + ".amazonaws.com"
	if strings.HasPrefix(b.region, "cn-") {
		host += ".cn"
	}
	switch {
	case b.endpoint != "":
		u, err := url.Parse(b.endpoint)
		if err != nil || u.Host == "" {
			return nil, targetErrorf("endpoint %q is not a URL such as https://s3.example.com", b.endpoint)
		}
		return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/") + "/" + b.bucket}, nil
	case s3utils.IsS3ExpressBucket(b.bucket):
		return nil, targetErrorf("bucket %s is a directory bucket of S3 Express, whose protocol is another; name a general purpose bucket", b.bucket)
	case strings.Contains(b.bucket, ".") || s3utils.CheckValidBucketNameStrict(b.bucket) != nil: // no certificate or name is for such a host
		return &url.URL{Scheme: "https", Host: host, Path: "/" + b.bucket}, nil
	}
	return &url.URL{Scheme: "https", Host: b.bucket + "." + host}, nil
}

// A page is a part of a list of objects.
type page struct {
	XMLName  xml.Name `xml:"ListBucketResult"`
	Contents []struct {
		Key  string
		Size int64
	}
	IsTruncated           bool
	NextContinuationToken string
}

func (b *s3Bucket) list(ctx context.Context, prefix string) (map[string]int64, error) {
	found := map[string]int64{}
	query := url.Values{"list-type": {"2"}, "prefix": {b.prefix + prefix}}
	for {
		a, err := b.do(ctx, request{method: http.MethodGet, query: query})
		if errors.Is(err, errNoObject) {
			return nil, targetErrorf("what answers knows no bucket %s; look at the endpoint, which does not name the bucket", b.bucket)
		} else if err != nil {
			return nil, err
		}
		var p page
		if xml.Unmarshal(a.text, &p) != nil || p.IsTruncated && p.NextContinuationToken == "" {
			return nil, notS3(http.StatusOK)
		}
		for _, o := range p.Contents {
			found[strings.TrimPrefix(o.Key, b.prefix)] = o.Size
		}
		if !p.IsTruncated {
			return found, nil
		}
		query.Set("continuation-token", p.NextContinuationToken)
	}
}

func (b *s3Bucket) open(ctx context.Context, key string) (io.ReadCloser, error) {
	a, err := b.do(ctx, request{method: http.MethodGet, key: key, stream: true})
	if err != nil {
		return nil, err
	}
	return &stream{a.body}, nil
}

// A stream reads the content of an object. Its errors are network errors; one of them
// is content that ends early.
type stream struct{ io.ReadCloser }

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return n, err
}

// put makes the server compare the bytes that it receives with the sum.
func (b *s3Bucket) put(ctx context.Context, key string, c content) error {
	_, err := b.do(ctx, request{method: http.MethodPut, key: key, size: c.size, sum: c.sum, content: func() (sending, error) { return c.open(ctx) }})
	return err
}

// write writes a small value, if a condition holds.
func (b *s3Bucket) write(ctx context.Context, key string, value []byte, condition, tag string) (answer, error) {
	return b.do(ctx, request{
		method: http.MethodPut, key: key, header: http.Header{condition: {tag}}, size: int64(len(value)), sum: sumOfBytes(value),
		content: func() (sending, error) { return small{bytes.NewReader(value)}, nil },
	})
}

func (b *s3Bucket) create(ctx context.Context, key string, value []byte) error {
	_, err := b.write(ctx, key, value, "If-None-Match", "*")
	return err
}

func (b *s3Bucket) remove(ctx context.Context, key string) error {
	_, err := b.do(ctx, request{method: http.MethodDelete, key: key})
	return err
}

func (b *s3Bucket) prepare(context.Context) error { return nil }
