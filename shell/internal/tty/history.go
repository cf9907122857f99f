package tty

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/internal/osfile"
)

// HistoryFile is where a session at a terminal keeps what was typed:
// $XDG_STATE_HOME/smolwc/history, by default below ~/.local/state. It is empty
// when there is no home.
func HistoryFile() string {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "smolwc", "history")
}

const (
	// historyEntries is how many entries the file keeps; it may grow to twice
	// as many before it is cut.
	historyEntries = 2000
	// historyEntry is the longest entry that is kept, in bytes.
	historyEntry = 64 << 10
)

// A History is a file with an entry a line, oldest first. Several sessions may
// have it open: each appends its entries as they come, under the file's lock.
type History struct {
	file    string // "": none
	Entries []string
}

// OpenHistory reads the file, leaving out lines that are too long or not text, and cuts it
// when it has grown long. A file that is not there has no entries.
func OpenHistory(file string) (*History, error) {
	h := &History{file: file}
	if _, err := os.Stat(file); err != nil {
		return h, nil
	}
	f, err := h.lock()
	if err != nil {
		return h, err
	}
	defer f.Close()
	h.Entries = readEntries(f)
	if len(h.Entries) <= 2*historyEntries {
		return h, nil
	}
	h.Entries = slices.Clone(h.Entries[len(h.Entries)-historyEntries:])
	if err := f.Truncate(0); err != nil {
		return h, err
	}
	_, err = f.WriteString(strings.Join(h.Entries, "\n") + "\n")
	return h, err
}

// lock opens the file for reading and appending and takes its lock, which ends
// when the file is closed.
func (h *History) lock() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(h.file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = f.Chmod(0o600) // it may have been made by hand
	if err == nil {
		err = osfile.Lock(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readEntries(f io.Reader) []string {
	var entries []string
	r := bufio.NewReader(io.LimitReader(f, 64<<20))
	for {
		line, err := r.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); keepEntry(line) {
			entries = append(entries, line)
		}
		if err != nil {
			return entries
		}
	}
}

// keepEntry reports whether a line belongs in the history. A space at its beginning keeps
// it out.
func keepEntry(line string) bool {
	return strings.TrimSpace(line) != "" && line[0] != ' ' && len(line) <= historyEntry && utf8.ValidString(line) && !strings.ContainsAny(line, "\n\r\x00\x1b")
}

// Add takes an entry and appends it to the file; kept is false for an entry equal to the
// one before.
func (h *History) Add(line string) (kept bool, err error) {
	if !keepEntry(line) || len(h.Entries) > 0 && h.Entries[len(h.Entries)-1] == line {
		return false, nil
	}
	h.Entries = append(h.Entries, line)
	if h.file == "" {
		return true, nil
	}
	f, err := h.lock()
	if err != nil {
		return true, err
	}
	_, err = f.WriteString(line + "\n")
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return true, err
}
