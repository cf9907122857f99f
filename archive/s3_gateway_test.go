package archive_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
)

// gatewayVersion is the S3 server that tests run against, in its own process. The
// module does not depend on it.
const gatewayVersion = "v1.8.0"

const (
	testAccess = archive.TestAccess
	testSecret = archive.TestSecret
)

// buildGateway builds the server once, into the user's cache, which takes minutes: so only
// with $SMOLWC_TEST_BUILDS.
var buildGateway = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "smolwc-test", "versitygw-"+gatewayVersion)
	bin := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if os.Getenv("SMOLWC_TEST_BUILDS") == "" {
		return "", errors.New("it was not built yet, and $SMOLWC_TEST_BUILDS is not set")
	}
	tmp, err := os.MkdirTemp("", "versitygw")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.Command("go", "install", "github.com/versity/versitygw/cmd/versitygw@"+gatewayVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=", "CGO_ENABLED=0")
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Copy, then rename, since the cache may be on another file system.
	text, err := os.ReadFile(filepath.Join(tmp, "versitygw"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(bin+".tmp", text, 0o755); err != nil {
		return "", err
	}
	return bin, os.Rename(bin+".tmp", bin)
})

// A gateway is an S3 server whose buckets are directories in root.
type gateway struct {
	root, addr string
	stop       func()
	start      func(testing.TB) // starts it again after stop, with the same data
}

// startGateway starts a server for one test. It skips the test if the server cannot be
// built.
func startGateway(t testing.TB) *gateway {
	t.Helper()
	bin, err := buildGateway()
	if err != nil {
		t.Skipf("no S3 server to test against: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{root: filepath.Join(t.TempDir(), "buckets"), addr: l.Addr().String()}
	meta := filepath.Join(t.TempDir(), "meta")
	for _, dir := range []string{filepath.Join(g.root, "bucket"), meta} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	g.start = func(t testing.TB) {
		t.Helper()
		cmd := exec.Command(bin, "--access", testAccess, "--secret", testSecret, "--port", g.addr, "--quiet", "posix", "--sidecar", meta, g.root)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		g.stop = sync.OnceFunc(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		t.Cleanup(g.stop)
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			conn, err := net.Dial("tcp", g.addr)
			if err == nil {
				_ = conn.Close()
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the S3 server does not answer: %v", err)
			}
		}
	}
	g.start(t)
	return g
}

// target names a prefix in the bucket.
func (g *gateway) target(prefix string) string {
	return fmt.Sprintf("s3://bucket/%s?endpoint=http://%s", prefix, g.addr)
}
