package node_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/rhino/node"
)

var kills = flag.Int("kills", 3, "kill processes `N` times")

// With these variables the test's binary is a process of the cluster: the configuration,
// a role and a region.
const (
	fileEnv   = "SMOLWC_TEST_REGIONS"
	roleEnv   = "SMOLWC_TEST_ROLE"
	regionEnv = "SMOLWC_TEST_REGION"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(fileEnv); path != "" {
		fmt.Fprintln(os.Stderr, runProcess(path, os.Getenv(roleEnv), os.Getenv(regionEnv)))
		os.Exit(1)
	}
	flag.Parse()
	os.Exit(m.Run())
}

func runProcess(path, role, region string) error {
	c, err := node.LoadConfig(path)
	if err != nil {
		return err
	}
	o := node.Options{Roles: []node.Role{node.Role(role)}, Listen: patientListen}
	if region != "" {
		o.Regions = []string{region}
	}
	return node.Run(context.Background(), c, o)
}

// patientListen waits while a connection of another program has the port.
func patientListen(network, address string) (l net.Listener, err error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if l, err = net.Listen(network, address); !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return l, err
		}
	}
}

// file writes the configuration to a file.
func (c *cluster) file() string {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "secret: %s\ndeadline: %v\nmemory: 16MiB\ncontrol: {address: %q, data_dir: %q}\nregions:\n", c.Secret, c.Deadline, c.Control.Address, c.Control.DataDir)
	for _, g := range c.Regions {
		fmt.Fprintf(&b, "  - {name: %s, address: %q, front: %q, data_dir: %q}\n", g.Name, g.Address, g.Front.Address, g.DataDir)
	}
	path := filepath.Join(c.t.TempDir(), "regions.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// process starts a process with a role, of one region or, if region is "", of all.
func (c *cluster) process(file string, role node.Role, region string) (kill func()) {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fileEnv+"="+file, roleEnv+"="+string(role), regionEnv+"="+region)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	done := false
	kill = func() {
		if !done {
			done = true
			_ = cmd.Process.Kill() // SIGKILL
			_ = cmd.Wait()
		}
	}
	c.t.Cleanup(kill)
	return kill
}
