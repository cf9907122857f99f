package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/query"
)

func (c *command) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return c.printVersion() },
	}
}

func (c *command) printVersion() error {
	_, err := fmt.Fprintln(c.out, c.versionLine())
	return fail(exitFailed, err)
}

// versionLine describes the build: version and platform, the engines linked into it, and
// the commit, if the build knew it.
func (c *command) versionLine() string {
	line := fmt.Sprint("smolwc ", version(), " ", runtime.Version(), " ", runtime.GOOS, "/", runtime.GOARCH)
	if !query.HasRocksDB {
		line += " (databases on Pebble, without RocksDB)"
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return line
	}
	line += "\nwith " + strings.Join(engines(info), ", ")
	from := commit
	if from == "" {
		from = buildSetting(info, "vcs.revision")
		if buildSetting(info, "vcs.modified") == "true" {
			from += ", with changes"
		}
	}
	if from != "" {
		line += "\ncommit " + from
	}
	return line
}

// engines are the engines of a build, with their versions as far as it knows them.
func engines(info *debug.BuildInfo) (found []string) {
	switch {
	case madeOf != "":
		found = append(found, madeOf)
	case query.HasRocksDB:
		found = append(found, "RocksDB")
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/cockroachdb/pebble/v2" {
			found = append(found, "Pebble "+strings.TrimPrefix(d.Version, "v"))
		}
	}
	return found
}

func buildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// release is the version of a build, commit its commit, and madeOf its C libraries. The
// linker sets them: see packaging/dist and make build.
var release, commit, madeOf string

// version is the version of the build; without a release, the go command names it.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	return cmp.Or(info.Main.Version, "(devel)")
}
