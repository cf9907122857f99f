package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A process holds a lock. It is described so that another process of the same
// machine can tell whether it lives. Fields that the system does not provide are
// empty; then the lock's age decides.
type process struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Machine identifies the machine, also after a restart. Copies of a virtual machine
	// may share it.
	Machine string `json:"machine,omitempty"`
	// Boot is new each time the machine starts.
	Boot string `json:"boot,omitempty"`
	// Namespace is the PID namespace in which PID is valid: containers have their own.
	Namespace string `json:"pid_namespace,omitempty"`
	// Started is when the process started, in the system's ticks since Boot: a
	// later process may get the same PID.
	Started uint64 `json:"started,omitempty"`
}

// thisProcess describes this process.
var thisProcess = sync.OnceValue(func() process {
	p := process{PID: os.Getpid()}
	p.Host, _ = os.Hostname()
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(bytes.TrimSpace(id)) > 0 {
		p.Machine = fmt.Sprintf("%.16x", sha256.Sum256(append([]byte("smolwc "), bytes.TrimSpace(id)...))) // the id itself is confidential
	}
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		p.Boot = string(bytes.TrimSpace(id))
	}
	p.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	p.Started, _, _ = statOf(p.PID)
	return p
})

// A Liveness says whether a process lives.
type Liveness int

// The values of Liveness.
const (
	Unknown Liveness = iota // it is of another machine or container
	Alive
	Dead
)

// liveness finds out whether a process lives. silent is the age of its last sign of
// life. Dead is certain, except for copies of a virtual machine that have the same name
// and started less than a minute ago.
func (p process) liveness(silent time.Duration) Liveness {
	self := thisProcess()
	switch {
	case p.Boot == "" || p.PID <= 0:
		return Unknown
	case p.Boot != self.Boot:
		up, known := uptime()
		if known && p.Machine != "" && p.Machine == self.Machine && p.Host == self.Host && silent > up {
			return Dead // the machine was restarted since
		}
		return Unknown
	case p.Namespace == "" || p.Namespace != self.Namespace || p.Started == 0:
		return Unknown
	}
	if gone(p.PID) {
		return Dead
	}
	started, ended, err := statOf(p.PID)
	if err == nil && (ended || started != p.Started) {
		return Dead
	}
	return Alive // or hidden from this user
}

// gone reports whether there is certainly no process with this number.
func gone(pid int) bool {
	other, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = other.Release() }()
	return errors.Is(other.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// statOf returns when a process started, and whether it has ended but its parent has
// not waited for it yet.
func statOf(pid int) (started uint64, ended bool, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, err
	}
	// The second field is a name in parentheses, of any characters.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, startTime = 0, 19
	if len(fields) <= startTime {
		return 0, false, errors.New("/proc is not as expected")
	}
	started, err = strconv.ParseUint(fields[startTime], 10, 64)
	return started, fields[state] == "Z" || fields[state] == "X", err
}

// uptime is how long ago the machine started.
func uptime() (up time.Duration, known bool) {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return time.Duration(seconds * float64(time.Second)), err == nil
}
