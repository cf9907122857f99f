package shell

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
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
	// historyLines is how many lines the file keeps.
	historyLines = 1000
	// historyLine is the longest line that is kept, in bytes.
	historyLine = 4000
)

// loadHistory reads the lines of the file, oldest first, leaving out what is
// too long or no text. A file that is not there has none.
func loadHistory(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	var lines []string
	r := bufio.NewReader(io.LimitReader(f, 16<<20))
	for {
		line, err := r.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); keepLine(line) {
			lines = append(lines, line)
		}
		if err != nil {
			return lines[max(0, len(lines)-historyLines):]
		}
	}
}

// keepLine reports whether a line belongs in the history: one that begins with
// a space is the user's way to keep it out.
func keepLine(line string) bool {
	return line != "" && line[0] != ' ' && len(line) <= historyLine && utf8.ValidString(line) && !strings.ContainsAny(line, "\n\r\x00\x1b")
}

// saveHistory writes the file anew, for its owner's eyes only.
func saveHistory(file string, lines []string) error {
	if file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".history-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	lines = lines[max(0, len(lines)-historyLines):]
	_, err = tmp.WriteString(strings.Join(append(lines[:len(lines):len(lines)], ""), "\n"))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
