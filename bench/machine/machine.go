// Package machine describes the machine and the build of a measurement.
package machine

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/cf/rocks"
)

// A Description is the machine and the build of a measurement.
type Description struct {
	CPU     string    `json:"cpu"`
	Cores   int       `json:"cores"` // the number that Go may use
	OS      string    `json:"os"`
	Arch    string    `json:"arch"`
	Go      string    `json:"go"`
	RocksDB string    `json:"rocksdb"`
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
}

// Describe describes this machine and this build. A fact that it cannot find is
// "unknown".
func Describe() Description {
	return Description{
		CPU:     cpuModel(),
		Cores:   runtime.GOMAXPROCS(0),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
		Go:      runtime.Version(),
		RocksDB: rocksVersion(),
		Commit:  commit(),
		Date:    time.Now().UTC().Truncate(time.Second),
	}
}

const unknown = "unknown"

func cpuModel() string { return lineOf("/proc/cpuinfo", "model name", ":") }

// rocksVersion reads the version from the options file that RocksDB writes at every
// open, because its C API does not have it.
func rocksVersion() string {
	dir, err := os.MkdirTemp("", "smolwc-bench-")
	if err != nil {
		return unknown
	}
	defer os.RemoveAll(dir)
	s, err := rocks.Open(dir, rocks.Options{Async: true})
	if err != nil {
		return unknown
	}
	defer s.Close()
	files, _ := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if len(files) == 0 {
		return unknown
	}
	return lineOf(files[0], "rocksdb_version", "=")
}

// lineOf returns the value of the first line with this name in a file.
func lineOf(file, name, separator string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return unknown
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), separator); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

// stamp is the commit, if the linker set it: the go command does not stamp a module
// that is not at the root of its repository.
var stamp string

// commit returns the commit of the build.
func commit() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	revision, modified := unknown, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	return revision + modified
}

// ResidentBytes returns the resident memory of the process, or 0 if it is unknown.
func ResidentBytes() int64 {
	kib, _, _ := strings.Cut(lineOf("/proc/self/status", "VmRSS", ":"), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// WrittenBytes returns the bytes that the process wrote to its disks so far, 0 if the
// number is unknown. Memory that a file is mapped to counts by its pages.
func WrittenBytes() int64 { return transferred("write_bytes") }

// ReadBytes returns the bytes that the process read from its disks so far, 0 if the
// number is unknown. The system's cache does not count.
func ReadBytes() int64 { return transferred("read_bytes") }

func transferred(name string) int64 {
	n, err := strconv.ParseInt(lineOf("/proc/self/io", name, ":"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// AllocatedBytes returns the bytes that a file takes on its disk.
func AllocatedBytes(info os.FileInfo) int64 {
	const unit = 512 // whatever the file system's blocks are
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * unit
	}
	return info.Size()
}

// ProcessorTime returns the processor time used by the process, 0 if it is unknown.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
