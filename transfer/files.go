package transfer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// format is the format of the file, by the spec or by the name.
func (s *Spec) format() (f format, err error) {
	path := s.paths()[0]
	switch {
	case s.Format == "" && s.In != nil:
		return format{}, specErrorf("", "%s: its format has to be given: as csv, as tsv or as jsonl", s.Path)
	case s.Format == "":
		if f, err = formatOf(path); err != nil {
			return f, err
		}
	default:
		if f, err = formatOf("x." + s.Format); err != nil {
			return f, specErrorf("", "there is no format %s; import reads csv, tsv, jsonl and parquet", quote(s.Format))
		}
	}
	if f.encoding = s.Encoding; f.parquet && s.Encoding != "" {
		return f, specErrorf("encoding", "a Parquet file has no encoding of its text")
	}
	if s.In != nil && f.parquet {
		return f, specErrorf("", "%s: a Parquet file is read from its end, which a pipe does not have", s.Path)
	}
	return f.of(path, s.In), nil
}

// find finds the files of a pattern, in the order of their names. A file with the name of
// the pattern is itself.
func (s *Spec) find() error {
	s.files = []string{s.Path}
	if s.In != nil || !strings.ContainsAny(s.Path, "*?[") {
		return nil
	}
	if _, err := os.Stat(s.Path); err == nil {
		return nil
	}
	found, err := filepath.Glob(s.Path)
	if err != nil {
		return specErrorf("", "%s is no pattern of file names; * is any text, ? any character, [ab] one of them", quote(s.Path))
	}
	if len(found) == 0 {
		return specErrorf("", "%s: no file has such a name", s.Path)
	}
	s.files = found
	return nil
}

// paths are the files, at least one.
func (s *Spec) paths() []string {
	if len(s.files) == 0 {
		return []string{s.Path}
	}
	return s.files
}

// The lines of several files are numbered through: the second file's begin at fileLines.
const fileLines = 1 << 40

// place names a line of the files.
func (s *Spec) place(line int) (path string, of int) {
	return s.paths()[line/fileLines], line % fileLines
}

// placed is a line in a message about another one of the same import.
func (s *Spec) placed(line int) string {
	path, of := s.place(line)
	if len(s.paths()) == 1 {
		return fmt.Sprintf("line %d", of)
	}
	return fmt.Sprintf("%s:%d", path, of)
}

// checkFiles returns the size of the files, and whether all are regular files, which can
// be read twice. It does not read them.
func (s *Spec) checkFiles() (size int64, regular bool, err error) {
	if s.In != nil {
		return 0, false, nil
	}
	regular = true
	for _, path := range s.paths() {
		n, is, err := checkFile(path)
		if err != nil {
			return 0, false, err
		}
		size += n
		regular = regular && is
	}
	return size, regular, nil
}

func checkFile(path string) (size int64, regular bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false, fileError(path, err)
	}
	if info.IsDir() {
		return 0, false, fmt.Errorf("%s: is a directory, not a file", path)
	}
	return info.Size(), info.Mode().IsRegular(), nil
}
