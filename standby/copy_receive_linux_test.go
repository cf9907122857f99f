package standby

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// fewFiles are the messages of a copy.
type fewFiles struct {
	all []*smolwcpb.CopyResponse
}

func (a *fewFiles) Recv() (*smolwcpb.CopyResponse, error) {
	if len(a.all) == 0 {
		return nil, io.EOF
	}
	m := a.all[0]
	a.all = a.all[1:]
	return m, nil
}

// dirtyPages are the pages of a file that are not on the disk (cachestat, Linux 6.5).
func dirtyPages(t *testing.T, path string) uint64 {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rng [2]uint64  // the whole file
	var stat [5]uint64 // cache, dirty, writeback, evicted, recently evicted
	_, _, errno := syscall.Syscall6(451, f.Fd(), uintptr(unsafe.Pointer(&rng)), uintptr(unsafe.Pointer(&stat)), 0, 0, 0)
	if errno != 0 {
		t.Skip(errno)
	}
	return stat[1] + stat[2]
}

// A try that is killed may leave a file that is whole and not on the disk. The next try has it
// there.
func TestAFileOfAnEarlierTryIsOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	content := bytes.Repeat([]byte("content"), 600_000)
	probe, path := filepath.Join(t.TempDir(), "probe"), filepath.Join(dir, "000007.sst")
	for _, path := range []string{probe, path} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syncFile(probe); err != nil || dirtyPages(t, probe) > 0 {
		t.Skip("the file system does not say what is on the disk", err)
	}
	left, err := leftFiles(dir)
	if err != nil || len(left) != 1 || left[0].GetCrc() != crc(content) {
		t.Fatal(left, err)
	}
	stream := &fewFiles{[]*smolwcpb.CopyResponse{{File: left[0], Have: true}, {End: true}}}
	err = receiveFiles(t.Context(), func(context.Context) (fileStream, error) { return stream, nil }, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if n := dirtyPages(t, path); n > 0 {
		t.Errorf("%d pages of the file are not on the disk after the copy", n)
	}
}
