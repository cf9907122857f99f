package archive

import (
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
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

// A refusal is an answer that a request was not carried out.
type refusal struct {
	status  int
	foreign bool     // it is not an answer of S3, for example from a server that accepts only HTTPS
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
}

func refused(status int, text []byte) *refusal {
	r := &refusal{}
	foreign := xml.Unmarshal(text, r) != nil || r.Code == ""
	r.status, r.foreign = status, foreign
	return r
}

func (r *refusal) Error() string {
	switch {
	case r.foreign:
		return fmt.Sprintf("HTTP status %d", r.status)
	case r.Message == "":
		return r.Code
	}
	return r.Code + ": " + r.Message
}

// failure gives an error of a request its kind.
func (b *s3Bucket) failure(err error) error {
	if err == nil {
		return nil
	}
	if hint := endpointHint(err); hint != "" {
		return fmt.Errorf("the object store %w: %s", ErrUnreachable, hint)
	}
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return unanswered(err)
	}
	switch {
	case r.foreign && r.status < 500 && r.status != http.StatusTooManyRequests:
		return notS3(r.status)
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("bucket %s: %w (%w)", b.bucket, ErrNoBucket, r)
	case r.Code == "InvalidBucketName":
		return targetErrorf("bucket %s: the server says %v", b.bucket, r)
	case r.Code == "AuthorizationHeaderMalformed" || r.Code == "PermanentRedirect" || r.Code == "TemporaryRedirect" || r.Code == "IllegalLocationConstraintException":
		return targetErrorf("bucket %s may be in another region than %s; add region=NAME to the target's parameters: the server says %v", b.bucket, b.region, r)
	case r.Code == "NoSuchKey" || r.Code == "NotFound":
		return fmt.Errorf("%w: %w", r, errNoObject)
	case r.Code == "PreconditionFailed" || r.Code == "ConditionalRequestConflict":
		return fmt.Errorf("%w: %w", r, errObjectExists)
	case r.Code == "NotImplemented":
		return targetErrorf("the object store cannot do what backups need: it answers %v", r)
	case r.Code == "RequestTimeTooSkewed":
		return fmt.Errorf("%w to bucket %s: the clock of this machine, or of the server, is wrong: the server says %w", ErrDenied, b.bucket, r)
	case r.status == http.StatusForbidden || r.status == http.StatusUnauthorized || r.Code == "XAdminUserNotFound": // versitygw's answer to an unknown key
		return fmt.Errorf("%w to bucket %s: the server says %w", ErrDenied, b.bucket, r)
	case r.Code == "QuotaExceeded" || r.Code == "XMinioStorageFull" || r.status == http.StatusInsufficientStorage:
		return fmt.Errorf("%w in bucket %s: the server says %w", ErrNoSpace, b.bucket, r)
	case r.status >= 500 || r.status == http.StatusTooManyRequests:
		return fmt.Errorf("the object store %w: it answers %w", ErrUnreachable, r)
	}
	return fmt.Errorf("the object store answers %w (HTTP status %d)", r, r.status)
}

func notS3(status int) error {
	return targetErrorf("what answers does not speak S3's protocol (HTTP status %d); look at the endpoint, and whether it begins with http or https", status)
}

// unanswered gives a kind to an error that is not an answer of an object store.
func unanswered(err error) error {
	if errors.Is(err, ErrDenied) || errors.Is(err, ErrNoSpace) {
		return err
	}
	if _, local := errors.AsType[*fs.PathError](err); local {
		return fileError(err)
	}
	// The cause may be our own timeout, which looks like one of the caller's.
	if cause, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the object store %w: %v", ErrUnreachable, cause.Err)
	}
	return fmt.Errorf("the object store %w: %v", ErrUnreachable, err)
}
