package archive_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/query"
)

// noKeys takes all access keys out of the environment.
func noKeys(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
}

// Without access keys the error says at once what to set. Amazon's metadata is
// asked only when the target says so, and the SDK writes nothing of its own.
func TestWithoutAccessKeys(t *testing.T) {
	noKeys(t)
	var asked atomic.Int64
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(metadata.Close)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
	open := func(target, want string) {
		t.Helper()
		_, err := archive.Open(t.Context(), target)
		if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", target, err, want)
		}
	}
	said := stderrOf(t, func() {
		open("s3://bucket/x", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
		t.Setenv("AWS_ACCESS_KEY_ID", "x")
		open("s3://bucket/x", "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not")
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_PROFILE", "nobody")
		open("s3://bucket/x", "nobody")
		t.Setenv("AWS_PROFILE", "")
		if n := asked.Load(); n != 0 {
			t.Errorf("the metadata was asked %d times", n)
		}
		open("s3://bucket/x?credentials=instance", "this machine gives no access keys")
	})
	if asked.Load() == 0 {
		t.Error("the metadata was not asked with credentials=instance")
	}
	if said != "" {
		t.Errorf("stderr: %s", said)
	}
}

// stderrOf returns the process's output to standard error while a function runs.
func stderrOf(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = before }()
	f()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// A wrong target fails after one request, and the error says what would be right.
func TestMistakenEndpoints(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	var tried atomic.Int64
	answers := func(start func(*httptest.Server), status int, kind, text string) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				tried.Add(1)
			}
		}
		s.Config.SetKeepAlivesEnabled(false) // a connection for each request
		start(s)
		t.Cleanup(s.Close)
		return s
	}
	s3Error := func(status int, code string) string {
		return answers((*httptest.Server).Start, status, "application/xml", "<Error><Code>"+code+"</Code><Message>said so</Message></Error>").URL
	}
	plain := answers((*httptest.Server).Start, 200, "text/html", "<html>hello</html>")
	secure := answers((*httptest.Server).StartTLS, 200, "text/html", "<html>hello</html>")
	for _, c := range []struct {
		what, endpoint, want string
		kind                 query.Kind
	}{
		{"https where http is spoken", strings.Replace(plain.URL, "http:", "https:", 1), "begin the endpoint with http://", query.KindUnavailable},
		{"http where https is spoken", strings.Replace(secure.URL, "https:", "http:", 1), "whether it begins with http or https", query.KindInvalidArgument},
		{"a certificate that nobody trusts", secure.URL, "certificate is not one that this machine trusts", query.KindUnavailable},
		{"a page", plain.URL, "does not speak S3's protocol", query.KindInvalidArgument},
		{"a page that is missing", answers((*httptest.Server).Start, 404, "text/html", "<html>no such page</html>").URL, "look at the endpoint", query.KindInvalidArgument},
		{"a bucket in the endpoint", s3Error(404, "NoSuchKey"), "which does not name the bucket", query.KindInvalidArgument},
		{"another region", s3Error(400, "AuthorizationHeaderMalformed"), "another region than us-east-1; add region=NAME", query.KindInvalidArgument},
		{"another region's redirect", s3Error(301, "PermanentRedirect"), "add region=NAME", query.KindInvalidArgument},
		{"a bucket's name that cannot be", s3Error(400, "InvalidBucketName"), "bucket bucket: the server says InvalidBucketName: said so", query.KindInvalidArgument},
		{"what the server does not have", s3Error(501, "NotImplemented"), "cannot do what backups need", query.KindInvalidArgument},
	} {
		tried.Store(0)
		a, err := archive.Open(t.Context(), "s3://bucket/x?endpoint="+c.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.List(t.Context())
		if err == nil || query.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "RequestID") {
			t.Errorf("%s: %v (%s), want %s (%s)", c.what, err, query.KindOf(err), c.want, c.kind)
		}
		if n := tried.Load(); n > 1 {
			t.Errorf("%s: tried %d times", c.what, n)
		}
	}
}
