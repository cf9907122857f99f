package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/smolwc/smolwc/bench/report"
)

// compare compares the measurements of two commits.
func compare(w io.Writer, processor bool, files []string) error {
	if len(files) != 2 {
		return wrongUsage("-compare takes two files, and got %d", len(files))
	}
	var in [2]*os.File
	for i, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in[i] = f
	}
	return report.Compare(w, processor, filepath.Base(files[0]), in[0], filepath.Base(files[1]), in[1])
}

// asBenchstat prints results in benchstat's format.
func asBenchstat(w io.Writer, files []string) error {
	if len(files) != 1 {
		return wrongUsage("-as-benchstat takes one file, and got %d", len(files))
	}
	f, err := os.Open(files[0])
	if err != nil {
		return err
	}
	defer f.Close()
	return report.Replay(f, report.NewBenchstat(w))
}
