//go:build unix

// Package stack runs TiKV's parts as processes of this machine, for tests and for a first
// look: the real PD, and a store that speaks TiKV's protocol, the unistore of TiDB's
// tests. It is not TiKV: one process holds all data, without Raft and without syncs.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A Stack is a PD and a store, which listen only on this machine. Its methods belong to
// one goroutine.
type Stack struct {
	bin, dir  string
	ports     ports
	pd, store *exec.Cmd // nil: it does not run
}

// ports stay with a directory, because PD writes its addresses into its data.
type ports struct{ PD, Peer, Store int }

// Start starts the binaries pd-server and store of the folder bin, with their data in dir.
// It returns when they answer. The caller stops them.
func Start(ctx context.Context, bin, dir string) (*Stack, error) {
	s := &Stack{bin: bin, dir: dir}
	if err := s.findPorts(); err != nil {
		return nil, err
	}
	if err := s.StartPD(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := s.StartStore(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Stack) findPorts() error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "ports.json")
	text, err := os.ReadFile(file)
	if err == nil {
		return json.Unmarshal(text, &s.ports)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, port := range []*int{&s.ports.PD, &s.ports.Peer, &s.ports.Store} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	if text, err = json.Marshal(s.ports); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// PD is the address of PD.
func (s *Stack) PD() string { return address(s.ports.PD) }

// URL is the URL of the database with a name.
func (s *Stack) URL(name string) string { return "tikv://" + s.PD() + "/" + name }

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// StartPD starts PD, and returns when it leads.
func (s *Stack) StartPD(ctx context.Context) (err error) {
	peer := "http://" + address(s.ports.Peer)
	s.pd, err = s.start("pd-server", "--name=pd", "--data-dir="+filepath.Join(s.dir, "pd"),
		"--client-urls=http://"+s.PD(), "--peer-urls="+peer, "--log-file="+filepath.Join(s.dir, "pd.log"))
	if err != nil {
		return err
	}
	return s.wait(ctx, "PD", func() bool {
		response, err := http.Get("http://" + s.PD() + "/pd/api/v1/leader")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// StartStore starts the store, and returns when it listens. PD must run.
func (s *Stack) StartStore(ctx context.Context) (err error) {
	addr := address(s.ports.Store)
	if s.store, err = s.start("store", "-pd", s.PD(), "-addr", addr, "-dir", filepath.Join(s.dir, "store")); err != nil {
		return err
	}
	return s.wait(ctx, "the store", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

// start starts a process that the terminal's Ctrl-C does not reach.
func (s *Stack) start(name string, args ...string) (*exec.Cmd, error) {
	out, err := os.OpenFile(filepath.Join(s.dir, name+".out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the process opened its own
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Env = append(os.Environ(), "GODEBUG=httpmuxgo121=1") // PD's routes are older than Go 1.22
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}

func (s *Stack) wait(ctx context.Context, what string, ready func() bool) error {
	for !ready() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer; %s has what it printed: %w", what, s.dir, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// KillPD kills PD as kill -9 does.
func (s *Stack) KillPD() error { return end(&s.pd, syscall.SIGKILL) }

// KillStore kills the store as kill -9 does.
func (s *Stack) KillStore() error { return end(&s.store, syscall.SIGKILL) }

// Stop stops the processes that run.
func (s *Stack) Stop() error {
	return errors.Join(end(&s.store, syscall.SIGTERM), end(&s.pd, syscall.SIGTERM))
}

func end(cmd **exec.Cmd, with syscall.Signal) error {
	if *cmd == nil || (*cmd).Process == nil {
		return nil
	}
	err := (*cmd).Process.Signal(with)
	_ = (*cmd).Wait() // it ended by a signal
	*cmd = nil
	return err
}
