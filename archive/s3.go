package archive

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

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
