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

// HistoryFile returns the default path of the history of terminal sessions:
// $XDG_STATE_HOME/smolwc/history, by default under ~/.local/state. It returns "" if
// there is no home directory.
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
	// historyEntries is the number of entries that the file keeps; the file may grow to
	// twice that number before it is cut.
	historyEntries = 2000
	// historyEntry is the longest entry that is kept, in bytes.
	historyEntry = 64 << 10
)

// A History is a file with one entry per line, oldest first. Several sessions may have
// it open: each one appends its entries at once, under the file's lock.
type History struct {
	file    string // "": no file
	Entries []string
}

// OpenHistory reads the file. It leaves out lines that are too long or not text, and it
// cuts a file that grew too long. A missing file is empty.
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

// lock opens the file for reading and appending and locks it. Closing the file releases
// the lock.
func (h *History) lock() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(h.file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = f.Chmod(0o600) // a user may have made the file
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

// keepEntry reports whether a line belongs in the history. A line with a leading space
// does not.
func keepEntry(line string) bool {
	return strings.TrimSpace(line) != "" && line[0] != ' ' && len(line) <= historyEntry && utf8.ValidString(line) && !strings.ContainsAny(line, "\n\r\x00\x1b")
}

// Add appends an entry to the history and its file. kept is false for an entry that
// equals the last one or does not belong in the history.
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
