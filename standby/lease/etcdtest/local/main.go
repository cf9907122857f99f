// Local runs what a file of Kubernetes describes as processes of this machine, with the same
// arguments: etcd, servers and a router. ops/run-local starts it.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/smolwc/smolwc/cli"
)

// beProgram makes a process of this program another one.
const beProgram = "SMOLWC_LOCAL_PROGRAM"

// be is the program that the environment names.
func be() {
	switch os.Getenv(beProgram) {
	case "etcd":
		etcdmain.Main(os.Args)
		os.Exit(0)
	case "smolwc":
		os.Exit(cli.Main(nil))
	}
}

func main() {
	be()
	manifests := flag.String("manifests", "ops/kubernetes.yaml", "run what `FILE` describes")
	dir := flag.String("dir", "data-local", "keep the volumes in `DIR`")
	flag.Parse()
	if err := run(*manifests, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

func run(manifests, dir string) error {
	text, err := os.ReadFile(manifests)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	pods, err := podsOf(text, dir, freeAddress)
	if err != nil {
		return fmt.Errorf("%s: %w", manifests, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var running sync.WaitGroup
	for _, p := range pods {
		fmt.Printf("%-16s", p.name)
		for _, port := range p.ports {
			fmt.Printf("  %s %s", port.Name, p.addrs[port.ContainerPort])
		}
		fmt.Println()
		running.Go(func() { keep(ctx, p) })
	}
	fmt.Printf("the volumes and logs are in %s; Ctrl-C stops all\n", dir)
	running.Wait()
	return nil
}

// keep runs a pod until the context ends, and restarts it when it ends, as Kubernetes
// does.
func keep(ctx context.Context, p *pod) {
	for ctx.Err() == nil {
		cmd, err := p.command()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it may have ended
			err = cmd.Wait()
			stop()
		}
		if ctx.Err() == nil {
			fmt.Printf("%s has ended, and starts again: %v\n", p.name, err)
			time.Sleep(time.Second)
		}
	}
}

// command is the process of a pod. What it says is appended to a file.
func (p *pod) command() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, p.args...)
	cmd.Env = append(os.Environ(), beProgram+"="+p.program)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, ownGroup
	return cmd, nil
}

// ownGroup keeps Ctrl-C away from a process: it is sent one signal, by this program.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // there is no loopback
	}
	defer l.Close()
	return l.Addr().String()
}
