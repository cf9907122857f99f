package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
)

// An s3Bucket keeps objects in a bucket of an object store.
type s3Bucket struct {
	client *s3.Client
	bucket string
	prefix string
	lease  leaseTimes
}

const defaultRegion = "us-east-1"

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

var usualPatience = patience{noProgress: 2 * time.Minute, attempts: 5, backoff: retry.DefaultMaxBackoff}

// newS3Bucket makes a client with the access keys of the environment. It sends
// nothing to the server yet.
func newS3Bucket(ctx context.Context, t s3Target, p patience) (*s3Bucket, error) {
	cfg, err := config.LoadDefaultConfig(ctx,
		// Each object's own SHA-256 is signed and compared by the server.
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
		config.WithRetryer(p.retryer),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(p.limit)),
		config.WithEC2IMDSClientEnableState(metadataState(t)),
		config.WithLogger(logging.Nop{}), // problems are returned as errors
	)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	if t.region != "" {
		cfg.Region = t.region
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, noKeys(t, err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		if t.endpoint != "" {
			o.BaseEndpoint = &t.endpoint
			o.UsePathStyle = true // other servers seldom have a name for each bucket
		}
		o.HTTPClient = &patientClient{o.HTTPClient, p.noProgress}
	})
	return &s3Bucket{client, t.bucket, t.prefix, usualLease}, nil
}

// metadataState says whether Amazon's instance metadata is asked for the access keys of
// the machine's role. Elsewhere the request times out after seconds, or another service
// answers it.
func metadataState(t s3Target) imds.ClientEnableState {
	if t.instance {
		return imds.ClientEnabled
	}
	return imds.ClientDisabled
}

func (p patience) retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = p.attempts, p.backoff
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if endpointHint(err) != "" || foreignAnswer(err) {
				return aws.FalseTernary
			}
			return aws.UnknownTernary
		})}, o.Retryables...)
	})
}

// limit ends the sending of a request when the server takes no bytes for too
// long, and the wait for the answer after it. The request as a whole may take
// any time.
func (p patience) limit(tr *http.Transport) {
	tr.ResponseHeaderTimeout = p.noProgress
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &patientConn{conn, p.noProgress}, nil
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

// A patientClient ends an answer that stalls.
type patientClient struct {
	s3.HTTPClient
	noProgress time.Duration
}

func (c *patientClient) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.HTTPClient.Do(r)
	if err == nil {
		resp.Body = &patientBody{resp.Body, c.noProgress}
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

func (b *s3Bucket) key(key string) *string { return aws.String(b.prefix + key) }

func (b *s3Bucket) list(ctx context.Context, prefix string) (map[string]int64, error) {
	found := map[string]int64{}
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: b.key(prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err := b.failure(err); errors.Is(err, errNoObject) {
			return nil, targetErrorf("what answers knows no bucket %s; look at the endpoint, which does not name the bucket", b.bucket)
		} else if err != nil {
			return nil, err
		}
		if page.Name == nil && page.KeyCount == nil && len(page.Contents) == 0 { // the client accepts any XML
			return nil, notS3(http.StatusOK)
		}
		for _, o := range page.Contents {
			found[strings.TrimPrefix(aws.ToString(o.Key), b.prefix)] = aws.ToInt64(o.Size)
		}
	}
	return found, nil
}

func (b *s3Bucket) open(ctx context.Context, key string) (io.ReadCloser, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: b.key(key)})
	if err != nil {
		return nil, b.failure(err)
	}
	return &answer{out.Body}, nil
}

// An answer reads the content of an object. Its errors are network errors.
type answer struct{ io.ReadCloser }

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return n, err
}

// put makes the server compare the bytes that it receives with the sum.
func (b *s3Bucket) put(ctx context.Context, key string, c content) error {
	in, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: b.key(key), Body: in, ContentLength: &c.size}, withSum(c.sum))
	return b.failure(err)
}

// withSum signs a request for content whose sum is known.
func withSum(sum Sum) func(*s3.Options) {
	return func(o *s3.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("smolwcSum", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				return next.HandleInitialize(v4.SetPayloadHash(ctx, sum.String()), in)
			}), middleware.Before)
		})
	}
}

func (b *s3Bucket) create(ctx context.Context, key string, value []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: b.key(key), Body: bytes.NewReader(value), IfNoneMatch: aws.String("*"),
	})
	return b.failure(err)
}

func (b *s3Bucket) remove(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: b.key(key)})
	return b.failure(err)
}

func (b *s3Bucket) prepare(context.Context) error { return nil }
