package archive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// noKeys says why there are no access keys, and how to provide them.
func noKeys(t s3Target, err error) error {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID") != "", os.Getenv("AWS_SECRET_ACCESS_KEY") != ""
	switch {
	case id != secret:
		set, unset := "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
		if secret {
			set, unset = unset, set
		}
		return fmt.Errorf("%w: %s is set and %s is not; set both", ErrDenied, set, unset)
	case t.instance:
		return fmt.Errorf("%w: this machine gives no access keys: %w", ErrDenied, err)
	case os.Getenv("AWS_PROFILE") != "":
		return fmt.Errorf("%w: profile %s gives no access keys: %w", ErrDenied, os.Getenv("AWS_PROFILE"), err)
	}
	return fmt.Errorf("%w: no access keys were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to name a profile of AWS's files; on a machine of Amazon's with a role, add credentials=instance to the target's parameters", ErrDenied)
}

// endpointHint says what is wrong with an endpoint that answers in another
// protocol than the request's; "" for other errors.
func endpointHint(err error) string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate is not one that this machine trusts"
	}
	switch says := err.Error(); {
	case strings.Contains(says, "server gave HTTP response to HTTPS client"):
		return "it speaks http and not https; begin the endpoint with http://"
	case strings.Contains(says, "malformed HTTP response"):
		return "it speaks https and not http; begin the endpoint with https://"
	}
	return ""
}

// foreignAnswer reports whether a server's refusal is not an answer of S3, for example
// from a server that accepts only HTTPS.
func foreignAnswer(err error) bool {
	_, foreign := errors.AsType[*smithy.DeserializationError](err)
	status := statusOf(err)
	return foreign && status >= 400 && status < 500
}

// statusOf is the HTTP status of an answer, 0 without an answer.
func statusOf(err error) int {
	if r, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return r.HTTPStatusCode()
	}
	return 0
}

// failure gives an error of the client its kind.
func (b *s3Bucket) failure(err error) error {
	var ended interface{ CanceledError() bool }
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &ended) {
		return err
	}
	if hint := endpointHint(err); hint != "" {
		return fmt.Errorf("the object store %w: %s", ErrUnreachable, hint)
	}
	status := statusOf(err)
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return b.unanswered(status, err)
	}
	said := api.ErrorCode()
	if m := api.ErrorMessage(); m != "" {
		said += ": " + m
	}
	switch code := api.ErrorCode(); {
	case code == "NoSuchBucket":
		return fmt.Errorf("bucket %s: %w (%s)", b.bucket, ErrNoBucket, said)
	case code == "InvalidBucketName":
		return targetErrorf("bucket %s: the server says %s", b.bucket, said)
	case code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect" || code == "IllegalLocationConstraintException":
		return targetErrorf("bucket %s may be in another region than %s; add region=NAME to the target's parameters: the server says %s", b.bucket, b.client.Options().Region, said)
	case code == "NoSuchKey" || code == "NotFound":
		return fmt.Errorf("%s: %w", said, errNoObject)
	case code == "PreconditionFailed" || code == "ConditionalRequestConflict":
		return fmt.Errorf("%s: %w", said, errObjectExists)
	case code == "NotImplemented":
		return targetErrorf("the object store cannot do what backups need: it answers %s", said)
	case status == http.StatusForbidden || status == http.StatusUnauthorized || code == "XAdminUserNotFound": // versitygw's answer to an unknown key
		return fmt.Errorf("%w to bucket %s: the server says %s", ErrDenied, b.bucket, said)
	case code == "QuotaExceeded" || code == "XMinioStorageFull" || status == http.StatusInsufficientStorage:
		return fmt.Errorf("%w in bucket %s: the server says %s", ErrNoSpace, b.bucket, said)
	case status >= 500 || status == http.StatusTooManyRequests:
		return fmt.Errorf("the object store %w: it answers %s", ErrUnreachable, said)
	}
	return fmt.Errorf("the object store answers %s (HTTP status %d)", said, status)
}

func notS3(status int) error {
	return targetErrorf("what answers does not speak S3's protocol (HTTP status %d); look at the endpoint, and whether it begins with http or https", status)
}

// unanswered gives a kind to an error that is not an answer of an object store.
func (b *s3Bucket) unanswered(status int, err error) error {
	if file := fileError(err); !errors.Is(file, err) || errors.Is(file, ErrNoSpace) {
		return file
	}
	if _, ok := errors.AsType[*smithy.DeserializationError](err); ok && status != 0 {
		return notS3(status)
	}
	// The cause may be our own timeout, which looks like one of the caller's.
	if cause, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the object store %w: %v", ErrUnreachable, cause.Err)
	}
	return fmt.Errorf("the object store %w: %v", ErrUnreachable, err)
}
