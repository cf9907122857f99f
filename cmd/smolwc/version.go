package main

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
		RunE: func(*cobra.Command, []string) error {
			line := []any{"smolwc", version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if !query.HasEngine {
				line = append(line, "(no RocksDB: for --addr alone)")
			}
			_, err := fmt.Fprintln(c.stdout, line...)
			return fail(exitFailed, err)
		},
	}
}

// version returns the version or the commit of the build.
func version() string {
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
