// Package doctor gathers a bug report about a machine and the files of a
// database, and leaves data out: no row key, qualifier or value, no token or password.
// It reads only, and a part that cannot be read says why.
package doctor

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var (
	userOfURL   = regexp.MustCompile(`://\S*@`) // to the last @: a password may contain some
	queryOfURL  = regexp.MustCompile(`(://[^\s?]*)\?\S*`)
	quoted      = regexp.MustCompile(`(?s)["'].*["']`) // to the last quote: a key may contain some
	bytesOfKey  = regexp.MustCompile(`(?i)\bafter [0-9a-f]+\b|\b[0-9a-f]{16,}\b|\b0x[0-9a-f]+`)
	restOfKey   = regexp.MustCompile(`(?is)(\b(user |internal |smallest |largest )?key\b[:=]?\s).*`)
	settingKeys = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "MALLOC_ARENA_MAX", "SMOLWC_CONFIG", "SMOLWC_DB", "SMOLWC_ENGINE"}

	numbered = regexp.MustCompile(`^\d+\.(sst|blob|log)$`)
	listing  = regexp.MustCompile(`^(MANIFEST|OPTIONS)-\d+$`)
	single   = []string{"CURRENT", "IDENTITY", "LOCK", "LOG", "LOG.old", "SMOLWC", "SYNCED", "tokens.json", "tokens.lock"}
)

const left = "…" // in place of omitted text

// Address is a directory or URL without a URL's user, password and parameters.
func Address(db string) string {
	return queryOfURL.ReplaceAllString(userOfURL.ReplaceAllString(db, "://"+left+"@"), "$1?"+left)
}

// Message is a message of smolwc or RocksDB without possible data: quoted text, bytes
// in hexadecimal, and everything after the word key.
func Message(text string) string {
	text = Address(text)
	text = quoted.ReplaceAllString(text, left)
	text = restOfKey.ReplaceAllString(text, "${1}"+left)
	return bytesOfKey.ReplaceAllString(text, left)
}

// Environment lists the variables that smolwc and Go's runtime obey. Of secrets it says
// only that they are set.
func Environment(getenv func(string) string, secrets ...string) string {
	var out strings.Builder
	for _, name := range settingKeys {
		if value := getenv(name); value != "" {
			_, _ = fmt.Fprintf(&out, "%s=%s\n", name, Address(value))
		}
	}
	for _, name := range secrets {
		if getenv(name) != "" {
			_, _ = fmt.Fprintf(&out, "%s is set\n", name)
		}
	}
	if out.Len() == 0 {
		return "nothing is set\n"
	}
	return out.String()
}

// Machine describes the system, its processors and memory, and the limits of this
// process. Systems other than Linux give less.
func Machine() string {
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "system      %s/%s, %d processors\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, f := range []struct{ name, file, begins string }{
		{"kernel", "/proc/version", ""},
		{"release", "/etc/os-release", "PRETTY_NAME="},
		{"processor", "/proc/cpuinfo", "model name"},
		{"memory", "/proc/meminfo", "MemTotal:"},
		{"available", "/proc/meminfo", "MemAvailable:"},
		{"load", "/proc/loadavg", ""},
		{"memory.max", "/sys/fs/cgroup/memory.max", ""},
		{"cpu.max", "/sys/fs/cgroup/cpu.max", ""},
		{"limit", "/proc/self/limits", "Max open files"},
		{"limit", "/proc/self/limits", "Max address space"},
		{"limit", "/proc/self/limits", "Max locked memory"},
	} {
		if line, ok := lineOf(f.file, f.begins); ok {
			_, _ = fmt.Fprintf(&out, "%-11s %s\n", f.name, strings.Join(strings.Fields(line), " "))
		}
	}
	return out.String()
}

// lineOf returns the first line of a file that begins with the text.
func lineOf(file, begins string) (string, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false // another system, or a container without it
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, begins) {
			return strings.TrimSpace(line), true
		}
	}
	return "", false
}

// Files counts the files of a database by their endings, names the file system that
// they are on, and shows the marker with the format.
func Files(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Sprintln(err)
	}
	type sum struct{ files, bytes int64 }
	sums := map[string]sum{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // deleted just now
		}
		s := sums[kindOf(e)]
		sums[kindOf(e)] = sum{s.files + 1, s.bytes + info.Size()}
	}
	var out strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		_, _ = fmt.Fprintf(&out, "%6d %-10s %14d bytes\n", sums[kind].files, kind, sums[kind].bytes)
	}
	if line, ok := mountOf(dir); ok {
		_, _ = fmt.Fprintf(&out, "on %s\n", line)
	}
	if marker, err := os.ReadFile(filepath.Join(dir, "SMOLWC")); err != nil {
		_, _ = fmt.Fprintln(&out, "marker:", err)
	} else {
		_, _ = fmt.Fprintf(&out, "marker: %.80s\n", strings.TrimSpace(string(marker)))
	}
	return out.String()
}

// kindOf is the ending of a numbered file, or a name that the engine or smolwc gives;
// other names are counted together.
func kindOf(e fs.DirEntry) string {
	name := e.Name()
	switch {
	case e.IsDir():
		return "folders"
	case numbered.MatchString(name):
		return filepath.Ext(name)[1:]
	case listing.MatchString(name):
		return name[:strings.IndexByte(name, '-')]
	case strings.HasPrefix(name, "marker."):
		return "marker"
	case slices.Contains(single, name):
		return name
	}
	return "others"
}

// mountOf is the type and the options of the file system of a directory.
func mountOf(dir string) (string, bool) {
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	text, readErr := os.ReadFile("/proc/self/mounts")
	if err != nil || readErr != nil {
		return "", false
	}
	var longest, found string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line) // device, place, type, options
		if len(f) < 4 || len(f[1]) < len(longest) {
			continue
		}
		if dir == f[1] || strings.HasPrefix(dir, strings.TrimSuffix(f[1], "/")+"/") {
			longest, found = f[1], f[2]+" at "+f[1]+", "+readOnlyOf(f[3])
		}
	}
	return found, found != ""
}

// readOnlyOf is the first of a mount's options, which says whether it can be written;
// the others may have addresses and passwords.
func readOnlyOf(options string) string {
	first, _, _ := strings.Cut(options, ",")
	return first
}
