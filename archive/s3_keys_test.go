package archive

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// awsFiles makes files of AWS's, and takes everything else that has access keys out of
// the environment.
func awsFiles(t *testing.T, config, credentials string) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": credentials} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, path)
	}
}

// bucketOf opens a target, and says which keys and which region it uses.
func bucketOf(t *testing.T, target string) (b *s3Bucket, keys string) {
	t.Helper()
	a, err := Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	b = a.bucket.(*s3Bucket)
	v, err := b.keys.GetWithContext(b.keyring)
	if err != nil {
		t.Fatal(err)
	}
	return b, strings.Join([]string{v.AccessKeyID, v.SecretAccessKey, v.SessionToken}, " ")
}

func TestAccessKeysOfProfiles(t *testing.T) {
	said := filepath.Join(t.TempDir(), "a file")
	awsFiles(t, `
[default]
region = eu-west-1
aws_access_key_id = D
aws_secret_access_key = of=default
[profile split]
region = eu-west-2
s3 =
  max_concurrent_requests = 20
[profile both]
aws_access_key_id = C
aws_secret_access_key = c
endpoint_url = http://127.0.0.1:9
[profile process]
credential_process = echo once >> "`+said+`"; echo '{"Version": 1, "AccessKeyId": "P", "SecretAccessKey": "p", "SessionToken": "t"}'
[profile renewed]
credential_process = echo again >> "`+said+`"; echo '{"Version": 1, "AccessKeyId": "R", "SecretAccessKey": "r", "Expiration": "2001-01-01T00:00:00Z"}'
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = default
[profile sso]
sso_session = nobody
sso_account_id = 1
sso_role_name = x
[profile fails]
credential_process = exit 3
[profile nonsense]
credential_process = echo hello
`, `
[split]
aws_access_key_id = S
aws_secret_access_key = s
aws_session_token = token
[both]
aws_access_key_id = B
aws_secret_access_key = b
`)
	for _, c := range []struct{ profile, target, keys, region, place string }{
		{"", "s3://bucket/x", "D of=default ", "eu-west-1", "https://bucket.s3.eu-west-1.amazonaws.com"},
		{"", "s3://bucket/x?region=cn-north-1", "D of=default ", "cn-north-1", "https://bucket.s3.cn-north-1.amazonaws.com.cn"},
		{"split", "s3://bu.cket", "S s token", "eu-west-2", "https://s3.eu-west-2.amazonaws.com/bu.cket"},
		{"both", "s3://bucket/x", "B b ", "us-east-1", "http://127.0.0.1:9/bucket"},
		{"both", "s3://bucket/x?endpoint=https://s3.example.com/store/", "B b ", "us-east-1", "https://s3.example.com/store/bucket"},
		{"process", "s3://bucket/x", "P p t", "us-east-1", "https://bucket.s3.us-east-1.amazonaws.com"},
		{"renewed", "s3://bucket/x", "R r ", "us-east-1", "https://bucket.s3.us-east-1.amazonaws.com"},
	} {
		t.Setenv("AWS_PROFILE", c.profile)
		b, keys := bucketOf(t, c.target)
		if keys != c.keys || b.region != c.region || b.place.String() != c.place {
			t.Errorf("profile %q, %s: keys %s, region %s, place %s", c.profile, c.target, keys, b.region, b.place)
		}
	}
	// Keys that do not expire are asked for once, others when they have expired.
	if text, err := os.ReadFile(said); err != nil || string(text) != "once\nagain\nagain\n" {
		t.Errorf("processes were run: %s, %v", text, err)
	}
	for profile, want := range map[string]string{
		"role": "credential_process = aws configure export-credentials", "sso": "aws sso login", "fails": "exit status 3",
		"nonsense": "is not JSON", "nobody": "profile nobody gives no access keys",
	} {
		t.Setenv("AWS_PROFILE", profile)
		if _, err := Open(t.Context(), "s3://bucket/x"); query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), want) {
			t.Errorf("profile %s: %v, want %s", profile, err, want)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "E") // before any profile
	t.Setenv("AWS_SECRET_ACCESS_KEY", "e")
	t.Setenv("AWS_DEFAULT_REGION", "eu-north-1")
	if b, keys := bucketOf(t, "s3://bucket/x"); keys != "E e " || b.region != "eu-north-1" {
		t.Errorf("of the environment: keys %s, region %s", keys, b.region)
	}
	if _, err := Open(t.Context(), "s3://bucket--use1-az1--x-s3/x"); query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), "S3 Express") {
		t.Errorf("a directory bucket: %v", err)
	}
}

// The metadata of a machine and of a container give keys: that of a machine only if the
// target says so.
func TestAccessKeysOfMachines(t *testing.T) {
	const role = `{"Code": "Success", "AccessKeyId": "%s", "SecretAccessKey": "k", "Token": "t", "Expiration": "2999-01-01T00:00:00Z"}`
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/latest/api/token":
			fmt.Fprint(w, "session")
		case "/latest/meta-data/iam/security-credentials/":
			fmt.Fprint(w, "role")
		case "/latest/meta-data/iam/security-credentials/role":
			fmt.Fprintf(w, role, "M"+r.Header.Get("X-aws-ec2-metadata-token"))
		case "/container":
			fmt.Fprintf(w, role, "C")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(metadata.Close)
	awsFiles(t, "", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
	if _, keys := bucketOf(t, "s3://bucket/x?credentials=instance"); keys != "Msession k t" {
		t.Errorf("a machine's keys are %s", keys)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", metadata.URL+"/container")
	if _, keys := bucketOf(t, "s3://bucket/x"); keys != "C k t" {
		t.Errorf("a container's keys are %s", keys)
	}
}

// TestRequestsAreSignedAsSent: the signature covers the path and the query as they are
// sent, and a value is sent once more after a refusal that passes.
func TestRequestsAreSignedAsSent(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	var tries atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		signed := r.Header.Get("Authorization")
		if r.URL.EscapedPath() != "/bucket/a%20b%2B%C3%A9/lock" || r.Header.Get("If-None-Match") != "*" || r.Header.Get("X-Amz-Security-Token") != "token" ||
			!strings.Contains(signed, "/us-east-1/s3/aws4_request") || !strings.Contains(signed, "if-none-match") || r.Header.Get("X-Amz-Content-Sha256") != sumOfBytes([]byte("value")).String() {
			t.Errorf("%s %s, %v", r.Method, r.URL.EscapedPath(), r.Header)
		}
	}))
	t.Cleanup(s.Close)
	a, err := Open(t.Context(), "s3://bucket/a b+é?endpoint="+s.URL)
	if err != nil {
		t.Fatal(err)
	}
	Hasty(t, a)
	if err := a.bucket.create(t.Context(), lockKey, []byte("value")); err != nil || tries.Load() != 2 {
		t.Errorf("%v after %d tries", err, tries.Load())
	}
}
