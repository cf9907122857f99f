package archive

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// An object store has no locks, but when several clients create the same object only
// one succeeds, and an object can be replaced on the condition that nobody changed it.
// So the lock is an object that its owner renews. It is taken over at once when its
// owner was a process of this machine that ended, and otherwise when it was not renewed
// for a long time, by the server's clock.
type leaseTimes struct {
	renewed time.Duration // how often the owner renews it
	stale   time.Duration // the age at which any process may take it over
}

var usualLease = leaseTimes{renewed: time.Minute, stale: 10 * time.Minute}

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

const defaultRegion = "us-east-1"

// findPlace is the URL of the bucket. Amazon uses a host for each bucket; other servers
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
