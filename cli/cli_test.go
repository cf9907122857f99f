package cli

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// A server sets the settings of its process that the page describes, and the
// environment overrides them.
func TestTheEnvironmentGoesBeforeTheServersSettings(t *testing.T) {
	for _, c := range []struct {
		percent, limit string // of the environment
		want           []string
	}{
		{"", "", []string{"go_gc_gogc_percent 50", fmt.Sprint("go_gc_gomemlimit_bytes ", float64(64<<20+ofGo(32<<20)))}},
		{"77", "128MiB", []string{"go_gc_gogc_percent 77", "go_gc_gomemlimit_bytes 1.34217728e+08"}},
	} {
		t.Setenv("GOGC", c.percent)
		t.Setenv("GOMEMLIMIT", c.limit)
		s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--http", "127.0.0.1:0", "--max-bytes", "64MiB", "--memory", "32MiB")
		resp, err := http.Get(s.pages)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(page), "\n"+want+"\n") {
				t.Errorf("GOGC=%s GOMEMLIMIT=%s: the metrics lack %s", c.percent, c.limit, want)
			}
		}
	}
}

// A process with GOGC in its environment, or with little memory, reserves less memory.
func TestReserve(t *testing.T) {
	for _, c := range []struct {
		gogc         string
		memory, want int64
	}{
		{"", 16 << 20, 2 << 20}, {"", 128 << 20, 16 << 20}, {"", 512 << 20, 16 << 20}, {"", 1 << 30, 32 << 20}, {"", 1 << 40, 32 << 20},
		{"100", 128 << 20, 0}, {"off", 1 << 30, 0},
	} {
		setReserved(nil)
		(&command{getenv: func(string) string { return c.gogc }}).reserve(c.memory)
		settle()
		if got := int64(len(reserved())); got != c.want {
			t.Errorf("GOGC=%s, memory %d: %d bytes are set aside, want %d", c.gogc, c.memory, got, c.want)
		}
	}
	setReserved(nil)
}

// The first collection reserves the memory.
func TestTheFirstCollectionReserves(t *testing.T) {
	setReserved(nil)
	defer setReserved(nil)
	(&command{getenv: func(string) string { return "" }}).reserve(16 << 20)
	for len(reserved()) == 0 {
		runtime.GC()
	}
}

func reserved() []byte {
	heap.Lock()
	defer heap.Unlock()
	return heap.reserved
}

// setReserved forgets what is still to be reserved.
func setReserved(b []byte) {
	heap.Lock()
	defer heap.Unlock()
	heap.reserved, heap.wanted = b, 0
}

// Go counts the memory that a server reserves as in use, for a database on a disk or in
// memory.
func TestServersReserve(t *testing.T) {
	t.Setenv("GOGC", "")
	for _, args := range [][]string{{"--db", filepath.Join(t.TempDir(), "db")}, {"--memory-only"}} {
		s := startServer(t, append(args, "--http", "127.0.0.1:0", "--memory", "128MiB")...)
		resp, err := http.Get(s.pages)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(page), "\ngo_memstats_heap_alloc_bytes ")
		value, _, _ := strings.Cut(after, "\n")
		if n, err := strconv.ParseFloat(value, 64); err != nil || n < float64(reserveOf(128<<20)) {
			t.Errorf("%v: %s bytes of the heap are in use, want %d or more (%v)", args, value, reserveOf(128<<20), err)
		}
	}
}

// What --help says of flags is in one column: the names of their values are ASCII, since
// they are counted in bytes.
func TestFlagsAreInColumns(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.LocalFlags().FlagUsages()) {
			name, usage, _ := strings.Cut(strings.TrimSpace(line), "   ")
			if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
				t.Errorf("%s: %s", cmd.CommandPath(), name)
			}
			if strings.Count(usage, "$") > 2 {
				t.Errorf("%s: the text above the flags has room for these variables: %s", cmd.CommandPath(), line)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look((&command{}).root())
}

// docs/shell.md lists every command.
func TestThePageOfTheShellHasEveryCommand(t *testing.T) {
	page, err := os.ReadFile("../docs/shell.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "\n### Commands\n")
	list, _, _ = strings.Cut(list, "\n### ")
	for _, cmd := range (&command{}).root().Commands() {
		if name := cmd.Name(); cmd.IsAvailableCommand() && !strings.Contains(list, "`"+name+"`") && !strings.Contains(list, "`"+name+" ") {
			t.Errorf("docs/shell.md does not list the command %s", name)
		}
	}
}
