package cli

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/internal/testaddr"
)

// The flags of failover are checked before anything is opened.
func TestServeEtcdFlags(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--etcd-ttl 5s":                          "name it with --etcd",
		"--advertise db1:8086":                   "name it with --etcd",
		"--etcd etcd1":                           "want HOST:PORT, or several",
		"--etcd etcd1:2379,etcd2":                "want HOST:PORT, or several",
		"--etcd e:2379 --standby-of db1:8086":    "leave out --standby-of",
		"--etcd e:2379 --standby-name one":       "leave out --standby-name",
		"--etcd e:2379 --standby-log 0":          "--etcd needs standbys",
		"--etcd e:2379 --etcd-ttl 1500ms":        "want whole seconds",
		"--etcd e:2379 --advertise db1":          "want HOST:PORT",
		"--etcd e:2379 --etcd-prefix /":          "want a path, as in /smolwc",
		"--etcd e:2379 --addr :0 --insecure":     "give theirs with --advertise",
		"--etcd e:2379 --standby-cert c.pem":     "go together",
		"--etcd e:2379 --semi-sync-timeout 0s":   "want more than 0",
		"--etcd e:2379 --standby-tls --addr x:y": "unknown port",
	} {
		got := tell(t, append([]string{"serve", "--db", filepath.Join(dir, "none"), "--addr", "127.0.0.1:0", "--http", "off"}, strings.Fields(args)...)...)
		if !strings.Contains(got, want) || strings.Contains(got, "serving") {
			t.Errorf("serve %s: %q; want %q", args, got, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The files and variables of etcdctl are those of serve.
func TestEtcdEnvironment(t *testing.T) {
	cert, key := selfSigned(t)
	for _, c := range []struct{ ca, cert, key, want string }{
		{"", "", "", ""},
		{cert, "", "", ""},
		{cert, cert, key, ""},
		{filepath.Join(t.TempDir(), "none"), "", "", "$ETCDCTL_CACERT: open"},
		{key, "", "", "has no certificate in PEM"},
		{"", cert, "", "$ETCDCTL_CERT and $ETCDCTL_KEY"},
	} {
		config, err := etcdTLS(c.ca, c.cert, c.key)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil && (config != nil) != (c.ca != "") {
			t.Errorf("%+v: TLS is %v", c, config)
		}
	}
	f := etcdFlags{}
	for addr, want := range map[string]string{"127.0.0.1:0": "127.0.0.1:7", "db1:8086": "db1:7", ":0": "", "0.0.0.0:0": "", "[::]:0": "", "[::1]:0": "[::1]:7"} {
		got, err := f.name(addr, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("--addr %s: %s, %v; want %s", addr, got, err, want)
		}
	}
}

// An error about a file of authorities names the flag that was given.
func TestErrorsOfAuthoritiesNameTheirFlag(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.pem")
	for _, flags := range []string{"--tls", "--standby", "--server"} {
		if _, err := (&remoteFlags{ca: missing}).config(t.Context(), flags); err == nil || !strings.HasPrefix(err.Error(), flags+"-ca: open ") {
			t.Errorf("%s: %v", flags, err)
		}
	}
}

// A server that waits for etcd answers each call with the reason, and is well.
func TestServeWithoutEtcd(t *testing.T) {
	addr, pages, etcd := testaddr.New(t), testaddr.New(t), testaddr.New(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--db", filepath.Join(t.TempDir(), "data"), "--addr", addr, "--http", pages, "--etcd", etcd, "--etcd-ttl", "1s")
	cmd.Env, cmd.Stderr = append(os.Environ(), beSmolwc+"=1"), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // it may have ended
	const waits = "this server waits for etcd to say which server leads, and serves nothing until then: "
	says := waits + "etcd (" + etcd + ") does not answer"
	await(t, says, "replicas", "--addr", addr)
	if got := tell(t, "--addr", addr, "-c", "tables"); !strings.Contains(got, says) {
		t.Errorf("a call: %q", got)
	}
	file := filepath.Join(t.TempDir(), "map.json")
	if err := os.WriteFile(file, []byte(`{"local": {"num_shards": 1, "`+addr+`": ["00000:M"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tell(t, "route", "check", "--map", file); !strings.Contains(got, says) {
		t.Errorf("route check: %q", got)
	}
	if got := page(t, "http://"+pages+"/readyz"); !strings.Contains(got, says) {
		t.Errorf("readyz: %q", got)
	}
	if got := page(t, "http://"+pages+"/healthz"); got != "ok\n" {
		t.Errorf("healthz: %q", got)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it runs
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}
