package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	readOfLog = 4 << 20 // bytes at its end that are read
	linesKept = 200
)

var (
	// A line about RocksDB's work: its time, perhaps the time it was made, and its place
	// in the source with the message, or an event.
	workLine  = regexp.MustCompile(`^(\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d+) (?:\(Original Log Time [^)]*\) )?((?:\[(?:WARN|ERROR|FATAL)\] )?\[/?[\w./]+\.(?:cc|h):\d+\] )(.*)$`)
	eventLine = regexp.MustCompile(`^(\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d+) (?:\(Original Log Time [^)]*\) )?EVENT_LOG_v1 (\{.*\})$`)
	// Strings of events that RocksDB chooses itself, and names of families. Others are
	// left out.
	eventStrings = []string{"event", "cf_name", "flush_reason", "compaction_reason", "output_compression", "method"}
)

// Log is the last 200 lines of RocksDB's log that tell of its work: flushes, compactions,
// files, errors. Options, which smolwc sets, and lines of an unknown form are left out,
// and [Message] goes over the others.
func Log(dir string) string {
	text, err := tail(filepath.Join(dir, "LOG"), readOfLog)
	if err != nil {
		return fmt.Sprintln(err)
	}
	var kept []string
	for line := range strings.Lines(text) {
		if line = logLine(strings.TrimSuffix(line, "\n")); line != "" {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return "it has no line about work\n"
	}
	return strings.Join(kept[max(0, len(kept)-linesKept):], "\n") + "\n"
}

// logLine is a line without possible data, or "".
func logLine(line string) string {
	if m := eventLine.FindStringSubmatch(line); m != nil {
		if event := eventOf(m[2]); event != "" {
			return m[1] + " " + event
		}
		return ""
	}
	if m := workLine.FindStringSubmatch(line); m != nil {
		return m[1] + " " + m[2] + Message(m[3])
	}
	return ""
}

// eventOf gives the numbers of an event, which are JSON, and a few of its strings.
func eventOf(text string) string {
	var event map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &event) != nil {
		return ""
	}
	for name, value := range event {
		if bytes.ContainsAny(value, `"{`) && !slices.Contains(eventStrings, name) {
			delete(event, name)
		}
	}
	short, err := json.Marshal(event)
	if err != nil {
		return ""
	}
	return string(short)
}

// tail reads the last n bytes of a file.
func tail(path string, n int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-n), n))
	return string(text), err
}
