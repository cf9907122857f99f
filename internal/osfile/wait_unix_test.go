//go:build unix

package osfile_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/internal/osfile"
)

// A pipe without another end is waited for until the context ends: its opening, in both
// directions, its reading, and what reads it as a file of settings or of keys.
func TestTheWaitForAPipeEndsWithItsContext(t *testing.T) {
	path := pipe(t)
	silent, mouth, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer mouth.Close()
	defer silent.Close()
	for name, wait := range map[string]func(context.Context) error{
		"open to read":  func(ctx context.Context) error { _, err := osfile.Open(ctx, path, os.O_RDONLY, 0); return err },
		"open to write": func(ctx context.Context) error { _, err := osfile.Open(ctx, path, os.O_WRONLY, 0); return err },
		"a file":        func(ctx context.Context) error { _, err := osfile.ReadFile(ctx, path); return err },
		"a key":         func(ctx context.Context) error { _, err := osfile.KeyPair(ctx, path, path); return err },
		"a reader":      func(ctx context.Context) error { _, err := io.ReadAll(osfile.Reader(ctx, silent)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- wait(ctx) }()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// What comes through a pipe is read whole.
func TestAPipeIsReadToItsEnd(t *testing.T) {
	path := pipe(t)
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(path, []byte("data_dir: x\n"), 0) }()
	text, err := osfile.ReadFile(t.Context(), path)
	if string(text) != "data_dir: x\n" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

func pipe(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	return path
}
