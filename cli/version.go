package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

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

// versionLine describes the build, on a second line with the engines linked into it.
func (c *command) versionLine() string {
	line := fmt.Sprint("smolwc ", version(), " ", runtime.Version(), " ", runtime.GOOS, "/", runtime.GOARCH)
	if !query.HasRocksDB {
		line += " (databases on Pebble, without RocksDB)"
	}
	if madeOf != "" {
		line += "\nwith " + madeOf
	}
	return line
}

// release is the version of a released build, and madeOf the C libraries in it. The linker
// sets them: see packaging/dist.
var release, madeOf string

// version returns the version or the commit of the build.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" {
			v += "-" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return v
}
